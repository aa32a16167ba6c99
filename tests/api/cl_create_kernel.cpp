// SPDX-License-Identifier: Apache-2.0
//
// clCreateKernel, clCreateKernelsInProgram and clGetKernelInfo.
#include <set>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClCreateKernel = KernelTest;
using ClCreateKernelsInProgram = KernelTest;
using ClGetKernelInfo = KernelTest;

TEST_F(ClCreateKernel, EveryKernelByName) {
  for (const char* name : {"add_one", "many_arguments", "required_size"}) {
    EXPECT_NE(kernel(name).get(), nullptr);
  }
}

TEST_F(ClCreateKernel, KeepsTheProgramAlive) {
  const Kernel add = kernel("add_one");
  program_.reset();
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 1));
  set_args(add, data);
  ASSERT_SUCCESS(launch(add, 64, 64));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(data, 64)));
}

TEST_F(ClCreateKernel, RejectsBadArguments) {
  cl_int code = CL_SUCCESS;
  auto create = [&](cl_program program, const char* name) {
    EXPECT_EQ(clCreateKernel(program, name, &code), nullptr);
    return code;
  };
  // "CL_INVALID_KERNEL_NAME if kernel_name is not found in program."
  EXPECT_CL(CL_INVALID_KERNEL_NAME, create(program_, "no_such_kernel"));
  EXPECT_CL(CL_INVALID_KERNEL_NAME, create(program_, ""));
  EXPECT_CL(CL_INVALID_KERNEL_NAME, create(program_, "add_one "));
  // "CL_INVALID_VALUE if kernel_name is NULL."
  EXPECT_CL(CL_INVALID_VALUE, create(program_, nullptr));
  // "CL_INVALID_PROGRAM if program is not a valid program object."
  EXPECT_CL(CL_INVALID_PROGRAM, create(nullptr, "add_one"));
  // "CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for program."
  const char* source = common_source().c_str();
  const Program unbuilt(clCreateProgramWithSource(context_, 1, &source, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE, create(unbuilt, "add_one"));
}

TEST_F(ClCreateKernelsInProgram, MakesThemAll) {
  cl_uint count = 0;
  ASSERT_SUCCESS(clCreateKernelsInProgram(program_, 0, nullptr, &count));
  EXPECT_EQ(count, value_of<size_t>(query_of(program_, CL_PROGRAM_NUM_KERNELS)));
  std::vector<cl_kernel> kernels(count + 1, nullptr);
  cl_uint made = 0;
  ASSERT_SUCCESS(clCreateKernelsInProgram(program_, count + 1, kernels.data(), &made));
  EXPECT_EQ(made, count);
  EXPECT_EQ(kernels[count], nullptr);
  std::set<std::string> names;
  for (cl_uint i = 0; i < count; ++i) {
    names.insert(string_of(query_of(kernels[i], CL_KERNEL_FUNCTION_NAME)));
    EXPECT_SUCCESS(clReleaseKernel(kernels[i]));
  }
  EXPECT_EQ(names.size(), count);
}

TEST_F(ClCreateKernelsInProgram, RejectsBadArguments) {
  // "CL_INVALID_VALUE if kernels is not NULL and num_kernels is less than the number of kernels in
  // program."
  cl_kernel one = nullptr;
  cl_uint count = 0;
  EXPECT_CL(CL_INVALID_VALUE, clCreateKernelsInProgram(program_, 1, &one, &count));
  EXPECT_CL(CL_INVALID_PROGRAM, clCreateKernelsInProgram(nullptr, 0, nullptr, &count));
  cl_int code = CL_SUCCESS;
  const char* source = common_source().c_str();
  const Program unbuilt(clCreateProgramWithSource(context_, 1, &source, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernelsInProgram(unbuilt, 0, nullptr, &count));
}

TEST_F(ClGetKernelInfo, Basics) {
  const Kernel many = kernel("many_arguments");
  EXPECT_EQ(string_of(query_of(many, CL_KERNEL_FUNCTION_NAME)), "many_arguments");
  EXPECT_EQ(value_of<cl_uint>(query_of(many, CL_KERNEL_NUM_ARGS)), 7u);
  EXPECT_EQ(value_of<cl_context>(query_of(many, CL_KERNEL_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_program>(query_of(many, CL_KERNEL_PROGRAM)), program_.get());
  // Rewriting for sub-ranges must not show in the argument count.
  const std::pair<const char*, cl_uint> counts[] = {
      {"add_one", 1}, {"add_scalar", 2}, {"reverse_in_group", 3}};
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(value_of<cl_uint>(query_of(kernel(name), CL_KERNEL_NUM_ARGS)), count) << name;
  }
}

TEST_F(ClGetKernelInfo, Attributes) {
  // "Attributes declared using __attribute__ on the kernel function, [...] the attributes list is
  // separated by spaces" — for a kernel without attributes the string is empty.
  EXPECT_EQ(string_of(query_of(kernel("add_one"), CL_KERNEL_ATTRIBUTES)), "");
  const std::string text = string_of(query_of(kernel("required_size"), CL_KERNEL_ATTRIBUTES));
  EXPECT_NE(text.find("reqd_work_group_size(4"), std::string::npos) << text;
}

TEST_F(ClGetKernelInfo, ReferenceCount) {
  const Kernel add = kernel("add_one");
  EXPECT_EQ(reference_count(add.get(), CL_KERNEL_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clRetainKernel(add));
  EXPECT_EQ(reference_count(add.get(), CL_KERNEL_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseKernel(add));
  EXPECT_EQ(reference_count(add.get(), CL_KERNEL_REFERENCE_COUNT), 1u);
}

TEST_F(ClGetKernelInfo, RejectsUnknownParameter) {
  const Kernel add = kernel("add_one");
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetKernelInfo(add, 0xdead, 0, nullptr, &size));
}

}  // namespace
}  // namespace tutti::api_tests
