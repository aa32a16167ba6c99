// SPDX-License-Identifier: Apache-2.0
// What becomes of drivers and devices that are not as they should be.
#include "platform/vendor_loader.h"

#include <gmock/gmock.h>

#include "stub_fixture.h"

namespace tutti::platform {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VendorLoaderTest : public backends::StubTest {};

TEST_F(VendorLoaderTest, ASoundDriver) {
  const VendorLoader loader = load("devices:2 units:7 type:gpu device:Thing");
  ASSERT_EQ(loader.drivers().size(), 1u);
  EXPECT_TRUE(loader.drivers()[0].ok) << loader.drivers()[0].reason;
  EXPECT_EQ(loader.drivers()[0].reason, "");
  ASSERT_EQ(loader.devices().size(), 2u);
  const backends::DeviceTraits& traits = loader.devices()[1].traits;
  EXPECT_EQ(traits.device_name, "Thing");
  EXPECT_EQ(traits.platform_name, "Stub");
  EXPECT_EQ(traits.type, static_cast<cl_device_type>(CL_DEVICE_TYPE_GPU));
  EXPECT_EQ(traits.compute_units, 7u);
  EXPECT_EQ(traits.clock_mhz, 1024u);
  EXPECT_EQ(traits.memory_alignment, 128u);
  EXPECT_EQ(traits.max_work_group, 256u);
}

struct Fault {
  const char* script;
  const char* reason;
};
class FaultyDriver : public backends::StubTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(FaultyDriver, IsLeftOutWithAReason) {
  const VendorLoader loader = load(GetParam().script);
  ASSERT_EQ(loader.drivers().size(), 1u);
  EXPECT_FALSE(loader.drivers()[0].ok);
  EXPECT_THAT(loader.drivers()[0].reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyDriver,
    ::testing::Values(Fault{"no-platforms", "no device"}, Fault{"no-devices", "no device"},
                      Fault{"devices:0", "no device"},
                      Fault{"error:clIcdGetPlatformIDsKHR:-6", "CL_OUT_OF_HOST_MEMORY"},
                      Fault{"error:clGetDeviceIDs:-5", "CL_OUT_OF_RESOURCES"},
                      Fault{"error:clGetDeviceInfo:-5", "CL_OUT_OF_RESOURCES"},
                      Fault{"error:clGetPlatformInfo:-5", "CL_OUT_OF_RESOURCES"},
                      Fault{"null:clGetPlatformInfo", "lacks clGetPlatformInfo"},
                      Fault{"null:clEnqueueNDRangeKernel null:clFlush",
                            "lacks clFlush, clEnqueueNDRangeKernel"},
                      Fault{"null:clCreateCommandQueue null:clCreateCommandQueueWithProperties",
                            "lacks clCreateCommandQueue"},
                      Fault{"platform:Tutti", "another copy of Tutti"}));

class UnusableDevice : public backends::StubTest, public ::testing::WithParamInterface<Fault> {};

TEST_P(UnusableDevice, IsListedWithAReason) {
  const VendorLoader loader = load(GetParam().script);
  ASSERT_EQ(loader.devices().size(), 1u);
  EXPECT_THAT(loader.devices()[0].reason, HasSubstr(GetParam().reason));
  EXPECT_FALSE(loader.drivers()[0].ok);
  EXPECT_THAT(loader.drivers()[0].reason, HasSubstr("can be used"));
}

INSTANTIATE_TEST_SUITE_P(All, UnusableDevice,
                         ::testing::Values(Fault{"unavailable", "not available"},
                                           Fault{"no-compiler", "no compiler"},
                                           Fault{"type:custom", "custom"},
                                           Fault{"address-bits:32", "32 bits"}));

TEST_F(VendorLoaderTest, OptionalFunctionsMayBeMissing) {
  const VendorLoader loader = load("null:clEnqueueFillBuffer null:clCreateCommandQueue");
  EXPECT_TRUE(loader.drivers().at(0).ok) << loader.drivers()[0].reason;
}

TEST_F(VendorLoaderTest, SlotsBeyondThePlatformsVersionAreNotRead) {
  const VendorLoader loader = load("version:1.1");
  ASSERT_EQ(loader.devices().size(), 1u);
  const backends::VendorFunctions& cl = *loader.devices()[0].device.cl;
  EXPECT_EQ(cl.version, 11u);
  EXPECT_NE(cl.clCreateSubBuffer, nullptr);
  EXPECT_EQ(cl.clEnqueueFillBuffer, nullptr);
  EXPECT_EQ(cl.clCreateCommandQueueWithProperties, nullptr);
}

TEST_F(VendorLoaderTest, ADriverThatCrashesIsLeftOutByTheProbe) {
  const VendorLoader loader = load("crash:clGetDeviceInfo", TUTTI_TEST_PROBE);
  ASSERT_EQ(loader.drivers().size(), 1u);
  EXPECT_FALSE(loader.drivers()[0].ok);
  EXPECT_THAT(loader.drivers()[0].reason, HasSubstr("crashes when it is queried"));
  EXPECT_THAT(loader.devices(), IsEmpty());
}

TEST_F(VendorLoaderTest, NoDriversAtAll) {
  DiscoveryOptions options;
  options.vendors = folder_.string();
  std::filesystem::remove(library_);
  const VendorLoader loader(options);
  EXPECT_THAT(loader.drivers(), IsEmpty());
  EXPECT_THAT(loader.devices(), IsEmpty());
}

}  // namespace
}  // namespace tutti::platform
