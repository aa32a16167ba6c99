// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCreateSubDevices : public DeviceTest {
 protected:
  bool can_partition(cl_device_partition_property kind) const {
    const auto kinds =
        array_of<cl_device_partition_property>(query_of(device_, CL_DEVICE_PARTITION_PROPERTIES));
    return std::count(kinds.begin(), kinds.end(), kind) > 0;
  }
};

TEST_F(ClCreateSubDevices, RootDevicesAreNotCounted) {
  // "If device is a root level device i.e. a cl_device_id returned by clGetDeviceIDs, the device
  // reference count remains unchanged."
  EXPECT_SUCCESS(clRetainDevice(device_));
  EXPECT_EQ(value_of<cl_uint>(query_of(device_, CL_DEVICE_REFERENCE_COUNT)), 1u);
  EXPECT_SUCCESS(clReleaseDevice(device_));
  EXPECT_SUCCESS(clReleaseDevice(device_));
  EXPECT_EQ(value_of<cl_uint>(query_of(device_, CL_DEVICE_REFERENCE_COUNT)), 1u);
}

TEST_F(ClCreateSubDevices, RejectsBadProperties) {
  // "CL_INVALID_VALUE if values specified in properties are not valid or if values specified in
  // properties are valid but not supported by the device."
  cl_uint count = 0;
  const cl_device_partition_property unknown[] = {0x7777, 1, 0};
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, unknown, 0, nullptr, &count));
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, nullptr, 0, nullptr, &count));
  for (const cl_device_partition_property kind :
       {CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS,
        CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN}) {
    if (can_partition(kind)) continue;
    const cl_device_partition_property unsupported[] = {kind, 1, 0, 0};
    EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, unsupported, 0, nullptr, &count));
  }
}

TEST_F(ClCreateSubDevices, Equally) {
  if (!can_partition(CL_DEVICE_PARTITION_EQUALLY)) GTEST_SKIP() << "not supported";
  const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  ASSERT_SUCCESS(clCreateSubDevices(device_, properties, 0, nullptr, &count));
  ASSERT_GE(count, 1u);
  std::vector<cl_device_id> devices(count);
  ASSERT_SUCCESS(clCreateSubDevices(device_, properties, count, devices.data(), nullptr));
  for (const cl_device_id device : devices) {
    EXPECT_EQ(value_of<cl_device_id>(query_of(device, CL_DEVICE_PARENT_DEVICE)), device_);
    EXPECT_EQ(value_of<cl_uint>(query_of(device, CL_DEVICE_MAX_COMPUTE_UNITS)), 1u);
    EXPECT_SUCCESS(clRetainDevice(device));
    EXPECT_EQ(value_of<cl_uint>(query_of(device, CL_DEVICE_REFERENCE_COUNT)), 2u);
    EXPECT_SUCCESS(clReleaseDevice(device));
    EXPECT_SUCCESS(clReleaseDevice(device));
  }
}

}  // namespace
}  // namespace tutti::api_tests
