// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClGetPlatformIds = PlatformTest;
using ClGetPlatformInfo = PlatformTest;

TEST_F(ClGetPlatformIds, ListsThePlatformOnce) {
  cl_uint count = 0;
  ASSERT_SUCCESS(clGetPlatformIDs(0, nullptr, &count));
  std::vector<cl_platform_id> platforms(count);
  ASSERT_SUCCESS(clGetPlatformIDs(count, platforms.data(), nullptr));
  EXPECT_EQ(std::count(platforms.begin(), platforms.end(), platform_), 1);
}

TEST_F(ClGetPlatformIds, RejectsBadLists) {
  // "CL_INVALID_VALUE if num_entries is equal to zero and platforms is not NULL or if both
  // num_platforms and platforms are NULL."
  cl_platform_id platform = nullptr;
  EXPECT_CL(CL_INVALID_VALUE, clGetPlatformIDs(0, &platform, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clGetPlatformIDs(1, nullptr, nullptr));
}

TEST_F(ClGetPlatformInfo, Strings) {
  EXPECT_EQ(string_of(query_of(platform_, CL_PLATFORM_NAME)), options().platform_name);
  EXPECT_FALSE(string_of(query_of(platform_, CL_PLATFORM_VENDOR)).empty());
  const std::string profile = string_of(query_of(platform_, CL_PLATFORM_PROFILE));
  EXPECT_TRUE(profile == "FULL_PROFILE" || profile == "EMBEDDED_PROFILE") << profile;
  // "OpenCL<space><major_version.minor_version><space><platform-specific information>"
  const std::string version = string_of(query_of(platform_, CL_PLATFORM_VERSION));
  EXPECT_EQ(version.compare(0, 7, "OpenCL "), 0) << version;
  EXPECT_EQ(version.find(' ', 7), 10u) << version;
  const std::string extensions = string_of(query_of(platform_, CL_PLATFORM_EXTENSIONS));
  // A driver behind an ICD loader has cl_khr_icd, and says by which suffix its functions go.
  EXPECT_NE(extensions.find("cl_khr_icd"), std::string::npos) << extensions;
  EXPECT_FALSE(string_of(query_of(platform_, 0x0920 /* CL_PLATFORM_ICD_SUFFIX_KHR */)).empty());
}

TEST_F(ClGetPlatformInfo, NumericVersionMatchesText) {
  const std::string text = string_of(query_of(platform_, CL_PLATFORM_VERSION));
  if (text.compare(7, 1, "3") < 0) GTEST_SKIP() << "an OpenCL 3.0 query";
  const auto version = value_of<cl_version>(query_of(platform_, CL_PLATFORM_NUMERIC_VERSION));
  EXPECT_EQ(text.substr(7, 3), std::to_string(CL_VERSION_MAJOR(version)) + "." +
                                   std::to_string(CL_VERSION_MINOR(version)));
}

TEST_F(ClGetPlatformInfo, ExtensionsWithVersionMatchText) {
  const std::string text = string_of(query_of(platform_, CL_PLATFORM_VERSION));
  if (text.compare(7, 1, "3") < 0) GTEST_SKIP() << "an OpenCL 3.0 query";
  std::string extensions = " " + string_of(query_of(platform_, CL_PLATFORM_EXTENSIONS)) + " ";
  const auto list =
      array_of<cl_name_version>(query_of(platform_, CL_PLATFORM_EXTENSIONS_WITH_VERSION));
  for (const cl_name_version& entry : list) {
    const std::string name = std::string(" ") + entry.name + " ";
    EXPECT_NE(extensions.find(name), std::string::npos) << entry.name;
  }
  size_t words = 0;
  for (size_t i = 1; i < extensions.size(); ++i) {
    if (extensions[i] == ' ' && extensions[i - 1] != ' ') ++words;
  }
  EXPECT_EQ(list.size(), words);
}

// "Each extension that is supported by all devices associated with this platform must be reported
// here."
TEST_F(ClGetPlatformInfo, ExtensionsAreTheOnlyDevices) {
  if (!options().tutti) GTEST_SKIP() << "vendors have several devices, or leave some out";
  EXPECT_EQ(string_of(query_of(platform_, CL_PLATFORM_EXTENSIONS)),
            string_of(query_of(options().device, CL_DEVICE_EXTENSIONS)));
}

TEST_F(ClGetPlatformInfo, HostTimerResolution) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 query";
  const auto resolution =
      value_of<cl_ulong>(query_of(platform_, CL_PLATFORM_HOST_TIMER_RESOLUTION));
  cl_ulong device_time = 0;
  cl_ulong host_time = 0;
  const cl_int code = clGetDeviceAndHostTimer(options().device, &device_time, &host_time);
  if (resolution == 0) {
    // "CL_INVALID_OPERATION if the platform associated with device does not support device and
    // host timer synchronization", which resolution 0 says.
    EXPECT_CL(CL_INVALID_OPERATION, code);
    EXPECT_CL(CL_INVALID_OPERATION, clGetHostTimer(options().device, &host_time));
    return;
  }
  ASSERT_SUCCESS(code);
  cl_ulong later = 0;
  ASSERT_SUCCESS(clGetHostTimer(options().device, &later));
  EXPECT_GE(later, host_time);
  // "CL_INVALID_VALUE if host_timestamp or device_timestamp is NULL."
  EXPECT_CL(CL_INVALID_VALUE, clGetHostTimer(options().device, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceAndHostTimer(options().device, nullptr, &host_time));
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceAndHostTimer(options().device, &device_time, nullptr));
}

TEST_F(ClGetPlatformInfo, RejectsUnknownParameter) {
  // "CL_INVALID_VALUE if param_name is not one of the supported values."
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetPlatformInfo(platform_, 0xdead, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_VALUE, clGetPlatformInfo(platform_, CL_DEVICE_NAME, 0, nullptr, &size));
}

TEST_F(PlatformTest, ExtensionFunctionAddress) {
  // "returns NULL if the specified function does not exist"
  EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(platform_, "clNoSuchFunctionKHR"), nullptr);
}

TEST_F(PlatformTest, UnloadCompiler) { EXPECT_SUCCESS(clUnloadPlatformCompiler(platform_)); }

}  // namespace
}  // namespace tutti::api_tests
