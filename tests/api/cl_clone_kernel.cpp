// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCloneKernel : public KernelTest {
 protected:
  void SetUp() override {
    if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 function";
    KernelTest::SetUp();
  }
  Kernel clone(cl_kernel source) {
    cl_int code = CL_INVALID_VALUE;
    Kernel copy(clCloneKernel(source, &code));
    EXPECT_SUCCESS(code);
    return copy;
  }
};

TEST_F(ClCloneKernel, TakesTheArgumentsOver) {
  // "Cloning is used to make a shallow copy of the kernel object, its arguments and any information
  // passed to the kernel object using clSetKernelExecInfo."
  const Kernel add = kernel("add_scalar");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data, cl_int{3});
  const Kernel copy = clone(add);
  EXPECT_EQ(reference_count(copy.get(), CL_KERNEL_REFERENCE_COUNT), 1u);
  EXPECT_EQ(string_of(query_of(copy, CL_KERNEL_FUNCTION_NAME)), "add_scalar");
  EXPECT_EQ(value_of<cl_program>(query_of(copy, CL_KERNEL_PROGRAM)), program_.get());
  ASSERT_SUCCESS(launch(copy, 64, 64));
  // From here on the two are apart.
  ASSERT_SUCCESS(set_arg(copy, 1, cl_int{100}));
  ASSERT_SUCCESS(launch(add, 64, 64));
  ASSERT_SUCCESS(launch(copy, 64, 64));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 106), read_all<cl_int>(data, 64)));
}

TEST_F(ClCloneKernel, OutlivesTheOriginal) {
  Kernel add = kernel("add_scalar");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data, cl_int{3});
  const Kernel copy = clone(add);
  add.reset();
  ASSERT_SUCCESS(launch(copy, 64, 64));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 3), read_all<cl_int>(data, 64)));
}

TEST_F(ClCloneKernel, UnsetArgumentsStayUnset) {
  const Kernel add = kernel("add_scalar");
  const Kernel copy = clone(add);
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch(copy, 64, 64));
}

TEST_F(ClCloneKernel, RejectsNull) {
  // "CL_INVALID_KERNEL if source_kernel is not a valid kernel object."
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCloneKernel(nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_KERNEL, code);
}

}  // namespace
}  // namespace tutti::api_tests
