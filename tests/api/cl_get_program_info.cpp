// SPDX-License-Identifier: Apache-2.0
//
// clGetProgramInfo and clGetProgramBuildInfo.
#include <algorithm>
#include <sstream>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClGetProgramInfo : public KernelTest {
 protected:
  Program create_only() {
    const char* source = common_source().c_str();
    cl_int code = CL_SUCCESS;
    Program program(clCreateProgramWithSource(context_, 1, &source, nullptr, &code));
    EXPECT_SUCCESS(code);
    return program;
  }
};
using ClGetProgramBuildInfo = ClGetProgramInfo;

TEST_F(ClGetProgramInfo, Basics) {
  EXPECT_EQ(value_of<cl_context>(query_of(program_, CL_PROGRAM_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_uint>(query_of(program_, CL_PROGRAM_NUM_DEVICES)), 1u);
  EXPECT_EQ(array_of<cl_device_id>(query_of(program_, CL_PROGRAM_DEVICES)),
            std::vector<cl_device_id>{device_});
  EXPECT_EQ(string_of(query_of(program_, CL_PROGRAM_SOURCE)), common_source());
}

TEST_F(ClGetProgramInfo, ReferenceCount) {
  EXPECT_EQ(reference_count(program_.get(), CL_PROGRAM_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clRetainProgram(program_));
  EXPECT_EQ(reference_count(program_.get(), CL_PROGRAM_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseProgram(program_));
  EXPECT_EQ(reference_count(program_.get(), CL_PROGRAM_REFERENCE_COUNT), 1u);
}

TEST_F(ClGetProgramInfo, KernelNames) {
  const auto count = value_of<size_t>(query_of(program_, CL_PROGRAM_NUM_KERNELS));
  const std::string text = string_of(query_of(program_, CL_PROGRAM_KERNEL_NAMES));
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ';');) names.push_back(name);
  EXPECT_EQ(names.size(), count) << text;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"add_one", "add_scalar", "copy_ints", "is_null",
                                             "many_arguments", "required_size", "reverse_in_group",
                                             "times_plus", "write_one"}));
}

TEST_F(ClGetProgramInfo, RejectsKernelQueriesBeforeTheBuild) {
  // "CL_INVALID_PROGRAM_EXECUTABLE if param_name is CL_PROGRAM_NUM_KERNELS [...] or
  // CL_PROGRAM_KERNEL_NAMES and a successfully built program executable is not available for at
  // least one device in the list of devices associated with program."
  const Program program = create_only();
  size_t size = 0;
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE,
            clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE,
            clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size));
}

TEST_F(ClGetProgramInfo, IntermediateLanguage) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 query";
  // "If program is created with clCreateProgramWithSource [...] param_value_size_ret is 0"
  EXPECT_TRUE(check_query(query_of(program_, CL_PROGRAM_IL)).empty());
}

TEST_F(ClGetProgramInfo, GlobalConstructors) {
  if (device_version() < 220) GTEST_SKIP() << "an OpenCL 2.2 query";
  EXPECT_EQ(value_of<cl_bool>(query_of(program_, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT)),
            cl_bool{CL_FALSE});
  EXPECT_EQ(value_of<cl_bool>(query_of(program_, CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT)),
            cl_bool{CL_FALSE});
}

TEST_F(ClGetProgramInfo, BinarySizesHaveOneEntryPerDevice) {
  EXPECT_EQ(array_of<size_t>(query_of(program_, CL_PROGRAM_BINARY_SIZES)).size(), 1u);
}

TEST_F(ClGetProgramInfo, RejectsUnknownParameter) {
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetProgramInfo(program_, 0xdead, 0, nullptr, &size));
}

TEST_F(ClGetProgramBuildInfo, BeforeTheBuild) {
  const Program program = create_only();
  EXPECT_EQ(value_of<cl_build_status>(query_of(program, device_, CL_PROGRAM_BUILD_STATUS)),
            CL_BUILD_NONE);
  EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_OPTIONS)), "");
  EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_LOG)), "");
  EXPECT_EQ(value_of<cl_program_binary_type>(query_of(program, device_, CL_PROGRAM_BINARY_TYPE)),
            cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_NONE});
}

TEST_F(ClGetProgramBuildInfo, AfterTheBuild) {
  const Program program = build(common_source(), "-DX=1 -DY");
  EXPECT_EQ(value_of<cl_build_status>(query_of(program, device_, CL_PROGRAM_BUILD_STATUS)),
            CL_BUILD_SUCCESS);
  EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_OPTIONS)), "-DX=1 -DY");
  string_of(query_of(program, device_, CL_PROGRAM_BUILD_LOG));
  EXPECT_EQ(value_of<cl_program_binary_type>(query_of(program, device_, CL_PROGRAM_BINARY_TYPE)),
            cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_EXECUTABLE});
  if (device_version() >= 200) {
    EXPECT_EQ(
        value_of<size_t>(query_of(program, device_, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE)),
        0u);
  }
}

TEST_F(ClGetProgramBuildInfo, RejectsBadArguments) {
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetProgramBuildInfo(program_, device_, 0xdead, 0, nullptr, &size));
  // "CL_INVALID_DEVICE if device is not in the list of devices associated with program."
  EXPECT_CL(CL_INVALID_DEVICE,
            clGetProgramBuildInfo(program_, nullptr, CL_PROGRAM_BUILD_STATUS, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_PROGRAM,
            clGetProgramBuildInfo(nullptr, device_, CL_PROGRAM_BUILD_STATUS, 0, nullptr, &size));
}

}  // namespace
}  // namespace tutti::api_tests
