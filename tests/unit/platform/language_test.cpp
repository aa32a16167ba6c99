// SPDX-License-Identifier: Apache-2.0
// Of which versions of OpenCL and OpenCL C the virtual device and its platform are.
#include "platform/language.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_device.h"
#include "platform/platform_object.h"

namespace tutti::platform {
namespace {

TEST(Language, VersionsAreThePrimarys) {
  EXPECT_EQ(names_in(merge({cpu()}), CL_DEVICE_OPENCL_C_ALL_VERSIONS),
            (std::vector<std::string>{"OpenCL C 1", "OpenCL C 1", "OpenCL C 1", "OpenCL C 3"}));
  FakeDevice both = cpu().text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 3.0 fake");
  EXPECT_EQ(names_in(merge({both}), CL_DEVICE_OPENCL_C_ALL_VERSIONS).size(), 5u);
  EXPECT_EQ(answer_text(merge({both}), CL_DEVICE_OPENCL_C_VERSION).substr(0, 12), "OpenCL C 3.0");
  FakeDevice second =
      cpu().text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 2.0 fake").languages({{1, 2}, {2, 0}});
  const Capabilities caps = merge({second});
  EXPECT_EQ(caps.opencl_c, 200u);
  EXPECT_EQ(caps.version, 200u);
  EXPECT_EQ(names_in(caps, CL_DEVICE_OPENCL_C_ALL_VERSIONS).back(), "OpenCL C 2");
}

/// Of OpenCL 3.1, with versions of what it has.
FakeDevice newer() {
  FakeDevice device = gpu();
  const auto listed = [](const char* name, cl_version version) {
    return std::array{name_version(name, version)};
  };
  device.version("OpenCL 3.1 fake")
      .text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 fake")
      .languages({{3, 1}, {3, 0}, {1, 2}})
      .extensions("cl_khr_fp64 cl_khr_integer_dot_product __opencl_c_subgroups")
      .set(CL_DEVICE_EXTENSIONS_WITH_VERSION,
           listed("cl_khr_integer_dot_product", CL_MAKE_VERSION(2, 0, 0)))
      .set(CL_DEVICE_OPENCL_C_FEATURES, listed("__opencl_c_subgroups", CL_MAKE_VERSION(3, 1, 0)));
  return device;
}

std::string platform_text(const Capabilities& caps, cl_platform_info what) {
  const Platform platform({}, std::make_shared<const Capabilities>(caps));
  std::string text(80, '\0');
  size_t size = 0;
  EXPECT_TRUE(platform.info(what, {text.size(), text.data(), &size}));
  text.resize(size);
  return text;
}

cl_version version_of(const Capabilities& caps, cl_device_info what, const std::string& name) {
  const auto& bytes = caps.answers.at(what);
  std::vector<cl_name_version> entries(bytes.size() / sizeof(cl_name_version));
  std::memcpy(entries.data(), bytes.data(), bytes.size());
  for (const cl_name_version& entry : entries) {
    if (entry.name == name) return entry.version;
  }
  return 0;
}

TEST(Language, IsOfVersion31WhereThePrimaryIs) {
  const Capabilities caps = merge({cpu(), newer()});
  EXPECT_EQ(caps.opencl_c, 310u);
  EXPECT_EQ(caps.version, 310u);
  EXPECT_EQ(answer_text(caps, CL_DEVICE_VERSION), "OpenCL 3.1 Tutti 1.2.3");
  EXPECT_EQ(answer<cl_version>(caps, CL_DEVICE_NUMERIC_VERSION), CL_MAKE_VERSION(3, 1, 0));
  EXPECT_EQ(names_in(caps, CL_DEVICE_OPENCL_C_ALL_VERSIONS).back(), "OpenCL C 3");
  EXPECT_EQ(names_in(caps, CL_DEVICE_OPENCL_C_ALL_VERSIONS).size(), 5u);
  EXPECT_EQ(platform_text(caps, CL_PLATFORM_VERSION).substr(0, 17), "OpenCL 3.1 Tutti ");
  const std::string numeric = platform_text(caps, CL_PLATFORM_NUMERIC_VERSION);
  cl_version version = 0;
  ASSERT_EQ(numeric.size(), sizeof version);
  std::memcpy(&version, numeric.data(), sizeof version);
  EXPECT_EQ(version, CL_MAKE_VERSION(3, 1, 0));
  // It may be the only one that it says to be of.
  EXPECT_EQ(answer_text(caps, CL_DEVICE_OPENCL_C_VERSION).substr(0, 12), "OpenCL C 1.2");
  EXPECT_EQ(answer_text(merge({newer().text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 3.1 fake")}),
                        CL_DEVICE_OPENCL_C_VERSION)
                .substr(0, 12),
            "OpenCL C 3.1");
}

TEST(Language, IsOfNoNewerVersionThanThePrimary) {
  const Capabilities caps = merge({newer(), cpu()});
  EXPECT_EQ(caps.opencl_c, 300u);
  EXPECT_EQ(answer_text(caps, CL_DEVICE_VERSION), "OpenCL 3.0 Tutti 1.2.3");
  EXPECT_EQ(platform_text(caps, CL_PLATFORM_VERSION).substr(0, 17), "OpenCL 3.0 Tutti ");
  // Its language alone does not make it a device of OpenCL 3.1.
  const Capabilities language = merge({newer().version("OpenCL 3.0 fake")});
  EXPECT_EQ(language.opencl_c, 310u);
  EXPECT_EQ(language.version, 300u);
  // The platform's functions are there whatever the device is.
  const FakeDevice old = cpu().languages({});
  EXPECT_EQ(merge({old}).version, 120u);
  EXPECT_EQ(platform_text(merge({old}), CL_PLATFORM_VERSION).substr(0, 17), "OpenCL 3.0 Tutti ");
}

TEST(Language, ExtensionsAndFeaturesHaveThePrimarysVersions) {
  const Capabilities caps = merge({newer()});
  const auto of_extension = [&caps](const char* name) {
    return version_of(caps, CL_DEVICE_EXTENSIONS_WITH_VERSION, name);
  };
  EXPECT_EQ(of_extension("cl_khr_integer_dot_product"), CL_MAKE_VERSION(2, 0, 0));
  EXPECT_EQ(of_extension("cl_khr_fp64"), CL_MAKE_VERSION(1, 0, 0));
  const auto of_feature = [&caps](const char* name) {
    return version_of(caps, CL_DEVICE_OPENCL_C_FEATURES, name);
  };
  EXPECT_EQ(of_feature("__opencl_c_subgroups"), CL_MAKE_VERSION(3, 1, 0));
  EXPECT_EQ(of_feature("__opencl_c_int64"), CL_MAKE_VERSION(3, 0, 0));
}

}  // namespace
}  // namespace tutti::platform
