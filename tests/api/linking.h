// SPDX-License-Identifier: Apache-2.0
//
// What the tests of clCompileProgram, clLinkProgram and program binaries share: units, and a
// program of several of them whose kernel uses ids and sizes of the whole launch in another unit.
//
// Thread-safety: to be used from the test's thread.
#pragma once

#include "fixtures.h"

namespace tutti::api_tests {

class LinkTest : public QueueTest {
 protected:
  Program create(const char* source) const {
    cl_int code = CL_SUCCESS;
    Program program(clCreateProgramWithSource(context_, 1, &source, nullptr, &code));
    EXPECT_SUCCESS(code);
    return program;
  }
  cl_int compile(cl_program program, const char* compile_options = "") const {
    return clCompileProgram(program, 1, &device_, compile_options, 0, nullptr, nullptr, nullptr,
                            nullptr);
  }
  Program compiled(const char* source, const char* compile_options = "") const {
    Program program = create(source);
    EXPECT_SUCCESS(compile(program, compile_options)) << log(program);
    return program;
  }
  Program link(std::vector<cl_program> inputs, const char* link_options, cl_int& code) const {
    return Program(clLinkProgram(context_, 1, &device_, link_options,
                                 static_cast<cl_uint>(inputs.size()), inputs.data(), nullptr,
                                 nullptr, &code));
  }
  Program linked(std::vector<cl_program> inputs, const char* link_options = "") const {
    cl_int code = CL_SUCCESS;
    Program program = link(std::move(inputs), link_options, code);
    EXPECT_SUCCESS(code) << (program.get() != nullptr ? log(program) : "");
    return program;
  }
  cl_build_status status(cl_program program) const {
    return value_of<cl_build_status>(query_of(program, device_, CL_PROGRAM_BUILD_STATUS));
  }
  cl_program_binary_type type(cl_program program) const {
    return value_of<cl_program_binary_type>(query_of(program, device_, CL_PROGRAM_BINARY_TYPE));
  }
  std::string log(cl_program program) const {
    return string_of(query_of(program, device_, CL_PROGRAM_BUILD_LOG));
  }

  std::vector<unsigned char> binary_of(cl_program program) const {
    size_t size = 0;
    EXPECT_SUCCESS(
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr));
    std::vector<unsigned char> binary(size);
    unsigned char* place = binary.data();
    EXPECT_SUCCESS(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(place), &place, nullptr));
    return binary;
  }
  Program load(const std::vector<unsigned char>& binary, cl_int& code,
               cl_int* binary_status = nullptr) const {
    const unsigned char* begin = binary.data();
    const size_t size = binary.size();
    return Program(
        clCreateProgramWithBinary(context_, 1, &device_, &size, &begin, binary_status, &code));
  }
  Program loaded(const std::vector<unsigned char>& binary) const {
    cl_int binary_status = CL_INVALID_VALUE;
    cl_int code = CL_SUCCESS;
    Program program = load(binary, code, &binary_status);
    EXPECT_SUCCESS(code);
    EXPECT_SUCCESS(binary_status);
    return program;
  }

  // The first `count` integers that `kernel(global int*)` writes, one by each work-item.
  std::vector<cl_int> run(cl_program program, const char* name, size_t count, size_t local = 0,
                          size_t offset = 0) const {
    const Kernel kernel = make_kernel(program, name);
    if (kernel.get() == nullptr) return {};
    const Buffer out = make_buffer((offset + count) * sizeof(cl_int));
    set_args(kernel, out);
    EXPECT_SUCCESS(launch(kernel, count, local, offset));
    std::vector<cl_int> all = read_all<cl_int>(out, offset + count);
    return {all.begin() + static_cast<std::ptrdiff_t>(offset), all.end()};
  }
};

// The kernel's unit, and the unit of its helpers. `where` gives out[i] for the launch of `count`
// work-items in groups of `local`, see where_expected().
inline const char kWhereKernel[] = R"CLC(
extern int group_place(int times);
int step(int i);
static int helper(int i) { return i * 3; }
kernel void where(global int* out) {
  out[get_global_id(0)] = group_place(1000) + step(helper((int)get_local_id(0)));
}
)CLC";
inline const char kWhereHelpers[] = R"CLC(
static int helper(int i) { return i + (int)get_num_groups(0); }
int group_place(int times) { return (int)get_group_id(0) * times + helper(0); }
int step(int i) { return i + (int)get_global_size(0) * 7 + (int)get_global_offset(0) * 11; }
)CLC";

inline std::vector<cl_int> where_expected(size_t count, size_t local, size_t offset = 0) {
  std::vector<cl_int> expected(count);
  for (size_t i = 0; i < count; ++i) {
    expected[i] = static_cast<cl_int>(i / local * 1000 + count / local + i % local * 3 + count * 7 +
                                      offset * 11);
  }
  return expected;
}

}  // namespace tutti::api_tests
