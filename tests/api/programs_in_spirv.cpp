// SPDX-License-Identifier: Apache-2.0
//
// Programs in SPIR-V: built, specialized, linked with others, and taken from their binaries. Where
// the device takes none, unsupported_features.cpp says what its calls give.
#include "fixtures.h"
#include "spirv_words.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kItems = 4096;

class ProgramsInSpirv : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if (device_version() < 210 ||
        string_of(query_of(device_, CL_DEVICE_IL_VERSION)).find("SPIR-V_1.0") ==
            std::string::npos) {
      GTEST_SKIP() << "the device does not take SPIR-V 1.0";
    }
  }
  Program make(const std::vector<uint32_t>& words = spirv_words::scale_add()) const {
    cl_int code = CL_SUCCESS;
    Program program(
        clCreateProgramWithIL(context_, words.data(), words.size() * sizeof(uint32_t), &code));
    EXPECT_SUCCESS(code);
    return program;
  }
  void build_it(const Program& program, const char* build_options = "") const {
    ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, build_options, nullptr, nullptr));
  }
  /// Each item `i` of `i`, with `times` * the constant added.
  void expect_adds(const Program& program, cl_uint expected) const {
    const Kernel kernel = make_kernel(program, "scale_add");
    std::vector<cl_uint> numbers(kItems);
    for (size_t i = 0; i < kItems; ++i) numbers[i] = static_cast<cl_uint>(i);
    const Buffer data = make_buffer_of(numbers);
    set_args(kernel, data, cl_uint{10});
    for (int round = 0; round < 2; ++round) {
      ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &kItems, nullptr, 0,
                                            nullptr, nullptr));
    }
    for (cl_uint& number : numbers) number += 2 * expected;
    EXPECT_TRUE(same_elements(numbers, read_all<cl_uint>(data, kItems)));
  }
};

TEST_F(ProgramsInSpirv, Build) {
  const auto words = spirv_words::scale_add();
  const Program program = make();
  EXPECT_EQ(array_of<uint32_t>(query_of(program, CL_PROGRAM_IL)), words);
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), "");
  build_it(program);
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_KERNEL_NAMES)), "scale_add");
  const Kernel kernel = make_kernel(program, "scale_add");
  EXPECT_EQ(value_of<cl_uint>(query_of(kernel, CL_KERNEL_NUM_ARGS)), 2u);
  expect_adds(program, 10);
}

TEST_F(ProgramsInSpirv, SpecializationConstants) {
  const Program program = make();
  const cl_uint three = 3;
  const auto set = [&](cl_uint id, size_t size, const void* value) {
    return clSetProgramSpecializationConstant(program, id, size, value);
  };
  EXPECT_CL(CL_INVALID_SPEC_ID, set(spirv_words::kAmountId + 1, sizeof three, &three));
  EXPECT_CL(CL_INVALID_VALUE, set(spirv_words::kAmountId, 2, &three));
  EXPECT_CL(CL_INVALID_VALUE, set(spirv_words::kAmountId, sizeof three, nullptr));
  ASSERT_SUCCESS(set(spirv_words::kAmountId, sizeof three, &three));
  build_it(program);
  expect_adds(program, 30);
  const cl_uint seven = 7;
  ASSERT_SUCCESS(set(spirv_words::kAmountId, sizeof seven, &seven));
  build_it(program);
  expect_adds(program, 70);
  EXPECT_EQ(array_of<uint32_t>(query_of(program, CL_PROGRAM_IL)), spirv_words::scale_add());
}

TEST_F(ProgramsInSpirv, CompiledAndLinkedWithOpenClC) {
  const Program module = make();
  ASSERT_SUCCESS(clCompileProgram(module, 1, &device_, "", 0, nullptr, nullptr, nullptr, nullptr));
  const char* text = "kernel void twice(global uint* a) { a[get_global_id(0)] *= 2; }";
  cl_int code = CL_SUCCESS;
  const Program source(clCreateProgramWithSource(context_, 1, &text, nullptr, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clCompileProgram(source, 1, &device_, "", 0, nullptr, nullptr, nullptr, nullptr));
  const cl_program inputs[] = {module, source};
  const Program linked(
      clLinkProgram(context_, 1, &device_, "", 2, inputs, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(value_of<size_t>(query_of(linked, CL_PROGRAM_NUM_KERNELS)), 2u);
  expect_adds(linked, 10);
  const Kernel twice = make_kernel(linked, "twice");
  const Buffer data = make_buffer_of(std::vector<cl_uint>(kItems, 21));
  set_args(twice, data);
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, twice, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_uint>(kItems, 42), read_all<cl_uint>(data, kItems)));
}

TEST_F(ProgramsInSpirv, FromTheirBinaries) {
  const Program program = make();
  const cl_uint five = 5;
  ASSERT_SUCCESS(clSetProgramSpecializationConstant(program, spirv_words::kAmountId, 4, &five));
  build_it(program);
  const auto sizes = array_of<size_t>(query_of(program, CL_PROGRAM_BINARY_SIZES));
  ASSERT_EQ(sizes.size(), 1u);
  std::vector<unsigned char> binary(sizes[0]);
  unsigned char* place = binary.data();
  ASSERT_SUCCESS(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof place, &place, nullptr));
  const unsigned char* bytes = binary.data();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  const Program loaded(
      clCreateProgramWithBinary(context_, 1, &device_, sizes.data(), &bytes, &status, &code));
  ASSERT_SUCCESS(code);
  build_it(loaded);
  expect_adds(loaded, 50);
}

TEST_F(ProgramsInSpirv, WhatIsNone) {
  auto words = spirv_words::scale_add();
  cl_int code = CL_SUCCESS;
  const auto expect_refused = [&](cl_int expected, cl_context context, const void* il,
                                  size_t length) {
    EXPECT_EQ(clCreateProgramWithIL(context, il, length, &code), nullptr);
    EXPECT_CL(expected, code);
  };
  const size_t size = words.size() * sizeof(uint32_t);
  expect_refused(CL_INVALID_CONTEXT, nullptr, words.data(), size);
  expect_refused(CL_INVALID_VALUE, context_, nullptr, size);
  expect_refused(CL_INVALID_VALUE, context_, words.data(), 0);
  expect_refused(CL_INVALID_VALUE, context_, words.data(), size - 12);
  words[0] = 0;
  expect_refused(CL_INVALID_VALUE, context_, words.data(), size);
}

TEST_F(ProgramsInSpirv, TheFunctionOfTheExtension) {
  const auto create = reinterpret_cast<decltype(&clCreateProgramWithIL)>(
      clGetExtensionFunctionAddressForPlatform(options().platform, "clCreateProgramWithILKHR"));
  if (create == nullptr) GTEST_SKIP() << "not there";
  const auto words = spirv_words::scale_add();
  cl_int code = CL_SUCCESS;
  const Program program(create(context_, words.data(), words.size() * sizeof(uint32_t), &code));
  ASSERT_SUCCESS(code);
  build_it(program, "-cl-mad-enable");
  expect_adds(program, 10);
}

}  // namespace
}  // namespace tutti::api_tests
