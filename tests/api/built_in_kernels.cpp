// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are built into the device: listed, made without a build, asked for their arguments,
// and run between others.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class BuiltInKernels : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    names_ = string_of(query_of(device_, CL_DEVICE_BUILT_IN_KERNELS));
    if (names_.find("test.scale;test.sum") == std::string::npos) {
      GTEST_SKIP() << "the device has none that the test knows";
    }
  }
  Program make(const char* names) const {
    cl_int code = CL_SUCCESS;
    Program program(clCreateProgramWithBuiltInKernels(context_, 1, &device_, names, &code));
    EXPECT_SUCCESS(code);
    return program;
  }
  static std::vector<cl_int> numbers(size_t count) {
    std::vector<cl_int> list(count);
    for (size_t i = 0; i < count; ++i) list[i] = static_cast<cl_int>(i * 7 % 1000);
    return list;
  }
  std::string names_;
};

TEST_F(BuiltInKernels, AreListedWithVersions) {
  if (device_version() < 300) GTEST_SKIP() << "versions are OpenCL 3.0's";
  const auto list =
      array_of<cl_name_version>(query_of(device_, CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION));
  std::string names;
  for (const cl_name_version& entry : list) {
    names += (names.empty() ? "" : ";") + std::string(entry.name);
    EXPECT_NE(entry.version, 0u);
  }
  EXPECT_EQ(names, names_);
}

TEST_F(BuiltInKernels, RefusesWhatIsNoName) {
  const auto refused = [this](const char* names) {
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(clCreateProgramWithBuiltInKernels(context_, 1, &device_, names, &code), nullptr);
    EXPECT_CL(CL_INVALID_VALUE, code);
  };
  refused(nullptr);
  refused("");
  refused(";");
  refused("test.scale;none_such");
  refused("test.scal");
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithBuiltInKernels(context_, 0, &device_, "test.scale", &code), nullptr);
  EXPECT_CL(CL_INVALID_VALUE, code);
  EXPECT_EQ(clCreateProgramWithBuiltInKernels(nullptr, 1, &device_, "test.scale", &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
}

TEST_F(BuiltInKernels, AreReadyWithoutABuild) {
  const Program program = make("test.sum;test.scale");
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_KERNEL_NAMES)), "test.sum;test.scale");
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), "");
  cl_build_status status = CL_BUILD_ERROR;
  ASSERT_SUCCESS(clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_STATUS, sizeof status,
                                       &status, nullptr));
  EXPECT_EQ(status, CL_BUILD_SUCCESS);
  // Some drivers want this of their applications.
  EXPECT_SUCCESS(clBuildProgram(program, 1, &device_, "", nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION,
            clCompileProgram(program, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr));
  cl_uint count = 0;
  ASSERT_SUCCESS(clCreateKernelsInProgram(program, 0, nullptr, &count));
  EXPECT_EQ(count, 2u);
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateKernel(program, "none_such", &code), nullptr);
  EXPECT_CL(CL_INVALID_KERNEL_NAME, code);
}

TEST_F(BuiltInKernels, TellTheirArguments) {
  const Program program = make("test.scale");
  const Kernel kernel = make_kernel(program, "test.scale");
  EXPECT_EQ(value_of<cl_uint>(query_of(kernel, CL_KERNEL_NUM_ARGS)), 3u);
  const auto address = [&](cl_uint index) {
    cl_kernel_arg_address_qualifier qualifier = 0;
    EXPECT_SUCCESS(clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                      sizeof qualifier, &qualifier, nullptr));
    return qualifier;
  };
  EXPECT_EQ(address(0), cl_uint{CL_KERNEL_ARG_ADDRESS_GLOBAL});
  EXPECT_EQ(address(2), cl_uint{CL_KERNEL_ARG_ADDRESS_PRIVATE});
  // Sizes and handles are looked at as everywhere.
  const cl_long wide = 1;
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 2, sizeof wide, &wide));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clSetKernelArg(kernel, 0, sizeof(cl_mem), &wide));
}

TEST_F(BuiltInKernels, RunBetweenOthers) {
  const Program built_in = make("test.scale;test.sum");
  const Program program = build(R"(kernel void next(global int* data, int add) {
    data[get_global_id(0)] += add + (int)get_global_id(0);
  })");
  const Kernel scale = make_kernel(built_in, "test.scale");
  const Kernel sum = make_kernel(built_in, "test.sum");
  const Kernel next = make_kernel(program, "next");
  for (const size_t count : {size_t{8}, size_t{4096}, size_t{100'008}}) {
    std::vector<cl_int> expected = numbers(count);
    const Buffer from = make_buffer_of(expected), to = make_buffer(count * sizeof(cl_int));
    set_args(scale, from, to, cl_int{3});
    set_args(next, to, cl_int{5});
    const cl_mem memory = to;
    ASSERT_SUCCESS(clSetKernelArg(sum, 0, sizeof memory, &memory));
    ASSERT_SUCCESS(clSetKernelArg(sum, 1, 8 * sizeof(cl_int), nullptr));
    const cl_uint2 add{{1, 2}};
    ASSERT_SUCCESS(clSetKernelArg(sum, 2, sizeof add, &add));
    const size_t local = 8;
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, scale, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, next, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, sum, 1, nullptr, &count, &local, 0, nullptr, nullptr));
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, next, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
    for (size_t i = 0; i < count; ++i) {
      expected[i] = 3 * expected[i] + static_cast<cl_int>(count) + 5 + static_cast<cl_int>(i);
    }
    for (size_t group = 0; group < count; group += local) {
      cl_int total = 3;
      for (size_t i = group; i < group + local; ++i) total += expected[i];
      for (size_t i = group; i < group + local; ++i) {
        expected[i] = total + 5 + static_cast<cl_int>(i);
      }
    }
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(to, count)));
  }
}

}  // namespace
}  // namespace tutti::api_tests
