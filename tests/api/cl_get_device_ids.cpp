// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClGetDeviceIds = DeviceTest;

std::vector<cl_device_id> devices_of(cl_platform_id platform, cl_device_type type, cl_int* code) {
  cl_uint count = 0;
  *code = clGetDeviceIDs(platform, type, 0, nullptr, &count);
  if (*code != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices(count);
  *code = clGetDeviceIDs(platform, type, count, devices.data(), nullptr);
  return devices;
}

TEST_F(ClGetDeviceIds, AllTypes) {
  cl_int code = CL_SUCCESS;
  const auto devices = devices_of(platform_, CL_DEVICE_TYPE_ALL, &code);
  ASSERT_SUCCESS(code);
  EXPECT_EQ(std::count(devices.begin(), devices.end(), device_), 1);
  if (options().tutti) {
    EXPECT_EQ(devices.size(), 1u) << "one platform with one device";
  }
}

TEST_F(ClGetDeviceIds, DefaultTypeNamesOneDevice) {
  cl_int code = CL_SUCCESS;
  const auto devices = devices_of(platform_, CL_DEVICE_TYPE_DEFAULT, &code);
  ASSERT_SUCCESS(code);
  ASSERT_EQ(devices.size(), 1u);
  // "The default OpenCL device [...] cannot be a CL_DEVICE_TYPE_CUSTOM device."
  const auto type = value_of<cl_device_type>(query_of(devices[0], CL_DEVICE_TYPE));
  EXPECT_EQ(type & CL_DEVICE_TYPE_CUSTOM, 0u);
}

TEST_F(ClGetDeviceIds, EveryTypeSelectsItsDevices) {
  const auto own_type =
      value_of<cl_device_type>(query_of(device_, CL_DEVICE_TYPE)) & ~CL_DEVICE_TYPE_DEFAULT;
  for (const cl_device_type type : {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU,
                                    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CUSTOM}) {
    SCOPED_TRACE(type);
    cl_int code = CL_SUCCESS;
    const auto devices = devices_of(platform_, type, &code);
    // "CL_DEVICE_NOT_FOUND if no OpenCL devices that matched device_type were found."
    EXPECT_TRUE(is_one_of(code, {CL_SUCCESS, CL_DEVICE_NOT_FOUND}));
    if (type == own_type) {
      EXPECT_CL(CL_SUCCESS, code);
    }
    if (code == CL_SUCCESS) {
      EXPECT_FALSE(devices.empty());
    }
    for (const cl_device_id device : devices) {
      EXPECT_NE(value_of<cl_device_type>(query_of(device, CL_DEVICE_TYPE)) & type, 0u);
    }
    const bool listed = std::count(devices.begin(), devices.end(), device_) > 0;
    EXPECT_EQ(listed, (own_type & type) != 0);
  }
}

TEST_F(ClGetDeviceIds, CombinedTypes) {
  cl_int code = CL_SUCCESS;
  const auto devices = devices_of(
      platform_, CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, &code);
  ASSERT_SUCCESS(code);
  EXPECT_EQ(std::count(devices.begin(), devices.end(), device_), 1);
}

TEST_F(ClGetDeviceIds, WritesNoMoreThanAsked) {
  cl_uint total = 0;
  ASSERT_SUCCESS(clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 0, nullptr, &total));
  std::vector<cl_device_id> devices(total + 2, nullptr);
  cl_uint count = 0;
  ASSERT_SUCCESS(clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, total + 2, devices.data(), &count));
  EXPECT_EQ(count, total);
  EXPECT_EQ(devices[total], nullptr);
  EXPECT_EQ(devices[total + 1], nullptr);
}

TEST_F(ClGetDeviceIds, RejectsBadLists) {
  // "CL_INVALID_VALUE if num_entries is equal to zero and devices is not NULL or if both
  // num_devices and devices are NULL."
  cl_device_id device = nullptr;
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 0, &device, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 1, nullptr, nullptr));
}

TEST_F(ClGetDeviceIds, RejectsUnknownType) {
  // "CL_INVALID_DEVICE_TYPE if device_type is not a valid value."
  cl_uint count = 0;
  EXPECT_CL(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs(platform_, 1u << 20, 0, nullptr, &count));
  EXPECT_CL(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs(platform_, 0, 0, nullptr, &count));
}

}  // namespace
}  // namespace tutti::api_tests
