// SPDX-License-Identifier: Apache-2.0
//
// Program binaries of every type, through a file and back.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "linking.h"

namespace tutti::api_tests {
namespace {

class ProgramBinaries : public LinkTest {
 protected:
  static std::vector<unsigned char> through_a_file(const std::vector<unsigned char>& binary) {
    const std::string path = testing::TempDir() + "tutti-program-binary-" +
                             std::to_string(reinterpret_cast<uintptr_t>(&binary));
    {
      std::ofstream file(path, std::ios::binary);
      file.write(reinterpret_cast<const char*>(binary.data()),
                 static_cast<std::streamsize>(binary.size()));
    }
    std::ifstream file(path, std::ios::binary);
    std::vector<unsigned char> read{std::istreambuf_iterator<char>(file), {}};
    std::remove(path.c_str());
    return read;
  }
};

TEST_F(ProgramBinaries, Executable) {
  const Program source = build(
      "kernel void k(global int* out, int value) {\n"
      "  out[get_global_id(0)] = (int)get_group_id(0) * 10 + (int)get_num_groups(get_work_dim())\n"
      "                          + value;\n"
      "}\n");
  const Program program = loaded(through_a_file(binary_of(source)));
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_EXECUTABLE});
  ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr)) << log(program);
  // A binary of a binary is the same again.
  EXPECT_EQ(binary_of(program), binary_of(source));
  const Kernel kernel = make_kernel(program, "k");
  const Buffer out = make_buffer(32 * sizeof(cl_int));
  set_args(kernel, out, cl_int{5});
  ASSERT_SUCCESS(launch(kernel, 32, 8));
  std::vector<cl_int> expected(32);
  for (int i = 0; i < 32; ++i) expected[static_cast<size_t>(i)] = i / 8 * 10 + 1 + 5;
  EXPECT_EQ(read_all<cl_int>(out, 32), expected);
}

TEST_F(ProgramBinaries, KeepArgumentInformation) {
  const Program source = build(
      "kernel void k(global const float4* restrict from, local int* scratch, uint count) {}\n",
      "-cl-kernel-arg-info");
  const Program program = loaded(binary_of(source));
  ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr));
  const Kernel kernel = make_kernel(program, "k");
  EXPECT_EQ(string_of(query_of(kernel, 0u, CL_KERNEL_ARG_NAME)), "from");
  EXPECT_EQ(string_of(query_of(kernel, 0u, CL_KERNEL_ARG_TYPE_NAME)), "float4*");
  EXPECT_EQ(value_of<cl_kernel_arg_address_qualifier>(
                query_of(kernel, 1u, CL_KERNEL_ARG_ADDRESS_QUALIFIER)),
            cl_kernel_arg_address_qualifier{CL_KERNEL_ARG_ADDRESS_LOCAL});
  EXPECT_EQ(string_of(query_of(kernel, 2u, CL_KERNEL_ARG_TYPE_NAME)), "uint");
}

TEST_F(ProgramBinaries, CompiledObject) {
  const Program helpers = compiled(kWhereHelpers);
  const Program program = loaded(through_a_file(binary_of(helpers)));
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT});
  EXPECT_EQ(binary_of(program), binary_of(helpers));
  const Program kernel = compiled(kWhereKernel);
  EXPECT_EQ(run(linked({kernel, program}), "where", 64, 16), where_expected(64, 16));
}

TEST_F(ProgramBinaries, Library) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  const Program library = linked({helpers}, "-create-library");
  const Program program = loaded(through_a_file(binary_of(library)));
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_LIBRARY});
  EXPECT_EQ(run(linked({kernel, program}), "where", 64, 16), where_expected(64, 16));
}

TEST_F(ProgramBinaries, LinkedExecutable) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  const Program source = linked({kernel, helpers});
  const Program program = loaded(through_a_file(binary_of(source)));
  ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr)) << log(program);
  EXPECT_EQ(run(program, "where", 64, 16), where_expected(64, 16));
  EXPECT_EQ(run(program, "where", 64, 16, 128), where_expected(64, 16, 128));
}

TEST_F(ProgramBinaries, OnlyExecutablesAreBuilt) {
  const Program helpers = compiled(kWhereHelpers);
  const Program program = loaded(binary_of(helpers));
  // "the program binary must be an executable binary (not a compiled binary or library)"
  EXPECT_NE(clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr), CL_SUCCESS);
  const Program executable = loaded(binary_of(build(common_source())));
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(link({executable}, "", code).get(), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
}

TEST_F(ProgramBinaries, DamagedOnesAreRefused) {
  const std::vector<unsigned char> good = binary_of(build(common_source()));
  ASSERT_FALSE(good.empty());
  const auto refused = [&](const std::vector<unsigned char>& binary) {
    cl_int binary_status = CL_SUCCESS;
    cl_int code = CL_SUCCESS;
    const Program program = load(binary, code, &binary_status);
    EXPECT_EQ(program.get(), nullptr);
    // "CL_INVALID_BINARY if an invalid program binary was encountered for any device."
    EXPECT_CL(CL_INVALID_BINARY, code);
    EXPECT_CL(CL_INVALID_BINARY, binary_status);
  };
  for (const size_t at : {size_t{0}, size_t{9}, good.size() / 2, good.size() - 1}) {
    std::vector<unsigned char> damaged = good;
    damaged[at] ^= 1;
    refused(damaged);
  }
  refused({good.begin(), good.end() - 1});
  refused({good.begin(), good.begin() + 10});
  std::vector<unsigned char> longer = good;
  longer.push_back(0);
  refused(longer);
}

TEST_F(ProgramBinaries, NoneBeforeTheBuild) {
  const Program program = create("kernel void k() {}\n");
  EXPECT_EQ(array_of<size_t>(query_of(program, CL_PROGRAM_BINARY_SIZES)), std::vector<size_t>{0});
  unsigned char* nothing = nullptr;
  EXPECT_SUCCESS(
      clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(nothing), &nothing, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
