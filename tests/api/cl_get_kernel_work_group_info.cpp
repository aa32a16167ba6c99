// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClGetKernelWorkGroupInfo = KernelTest;

TEST_F(ClGetKernelWorkGroupInfo, Sizes) {
  const Kernel add = kernel("add_one");
  const auto size = value_of<size_t>(query_of(add, device_, CL_KERNEL_WORK_GROUP_SIZE));
  EXPECT_GE(size, 1u);
  EXPECT_LE(size, value_of<size_t>(query_of(device_, CL_DEVICE_MAX_WORK_GROUP_SIZE)));
  EXPECT_GE(value_of<size_t>(query_of(add, device_, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)),
            1u);
  check_query(query_of(add, device_, CL_KERNEL_PRIVATE_MEM_SIZE));
  EXPECT_EQ(check_query(query_of(add, device_, CL_KERNEL_PRIVATE_MEM_SIZE)).size(),
            sizeof(cl_ulong));
}

TEST_F(ClGetKernelWorkGroupInfo, LargestSizeCanBeLaunched) {
  const Kernel add = kernel("add_one");
  const auto size = value_of<size_t>(query_of(add, device_, CL_KERNEL_WORK_GROUP_SIZE));
  const Buffer data = make_buffer_of(std::vector<cl_int>(2 * size, 4));
  set_args(add, data);
  ASSERT_SUCCESS(launch(add, 2 * size, size));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(2 * size, 5), read_all<cl_int>(data, 2 * size)));
}

TEST_F(ClGetKernelWorkGroupInfo, CompileSize) {
  using Size = std::array<size_t, 3>;
  // "If the work-group size is not specified using the above attribute qualifier (0, 0, 0) is
  // returned."
  EXPECT_EQ(value_of<Size>(query_of(kernel("add_one"), device_, CL_KERNEL_COMPILE_WORK_GROUP_SIZE)),
            (Size{0, 0, 0}));
  EXPECT_EQ(
      value_of<Size>(query_of(kernel("required_size"), device_, CL_KERNEL_COMPILE_WORK_GROUP_SIZE)),
      (Size{4, 2, 1}));
}

TEST_F(ClGetKernelWorkGroupInfo, LocalMemoryCountsArguments) {
  // "This includes local memory that may be needed by an implementation to execute the kernel,
  // variables declared inside the kernel with the __local address qualifier and local memory to be
  // allocated for arguments to the kernel declared as pointers with the __local address
  // qualifier"
  const Kernel reverse = kernel("reverse_in_group");
  const auto before = value_of<cl_ulong>(query_of(reverse, device_, CL_KERNEL_LOCAL_MEM_SIZE));
  ASSERT_SUCCESS(set_arg(reverse, 2, LocalBytes{4096}));
  const auto after = value_of<cl_ulong>(query_of(reverse, device_, CL_KERNEL_LOCAL_MEM_SIZE));
  EXPECT_GE(after, before + 4096);
}

TEST_F(ClGetKernelWorkGroupInfo, DeviceMayBeNullWhenThereIsOne) {
  // "If the list of devices associated with kernel is a single device, device can be a NULL value."
  const Kernel add = kernel("add_one");
  const cl_device_id none = nullptr;
  EXPECT_EQ(value_of<size_t>(query_of(add, none, CL_KERNEL_WORK_GROUP_SIZE)),
            value_of<size_t>(query_of(add, device_, CL_KERNEL_WORK_GROUP_SIZE)));
}

TEST_F(ClGetKernelWorkGroupInfo, RejectsBadArguments) {
  const Kernel add = kernel("add_one");
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetKernelWorkGroupInfo(add, device_, 0xdead, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_KERNEL, clGetKernelWorkGroupInfo(nullptr, device_, CL_KERNEL_WORK_GROUP_SIZE,
                                                        0, nullptr, &size));
  // "CL_INVALID_VALUE if param_name is CL_KERNEL_GLOBAL_WORK_SIZE and device is not a custom device
  // and kernel is not a built-in kernel."
  EXPECT_CL(CL_INVALID_VALUE,
            clGetKernelWorkGroupInfo(add, device_, CL_KERNEL_GLOBAL_WORK_SIZE, 0, nullptr, &size));
}

TEST_F(ClGetKernelWorkGroupInfo, SubGroups) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 function";
  if (value_of<cl_uint>(query_of(device_, CL_DEVICE_MAX_NUM_SUB_GROUPS)) != 0) {
    GTEST_SKIP() << "the device has sub-groups";
  }
  if (!options().tutti) GTEST_SKIP() << "null in vendors' tables";
  // "CL_INVALID_OPERATION if device does not support subgroups."
  const Kernel add = kernel("add_one");
  const size_t local = 64;
  size_t value = 0;
  EXPECT_CL(CL_INVALID_OPERATION,
            clGetKernelSubGroupInfo(add, device_, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                    sizeof(local), &local, sizeof(value), &value, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
