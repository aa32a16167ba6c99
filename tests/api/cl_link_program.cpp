// SPDX-License-Identifier: Apache-2.0
#include "linking.h"

namespace tutti::api_tests {
namespace {

using ClLinkProgram = LinkTest;

TEST_F(ClLinkProgram, GivesAnExecutable) {
  const Program kernel = compiled(kWhereKernel);
  const Program helpers = compiled(kWhereHelpers);
  const Program program = linked({kernel, helpers}, "-cl-finite-math-only");
  EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_EXECUTABLE});
  EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_OPTIONS)),
            "-cl-finite-math-only");
  log(program);
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_KERNEL_NAMES)), "where");
  EXPECT_EQ(value_of<size_t>(query_of(program, CL_PROGRAM_NUM_KERNELS)), 1u);
  EXPECT_EQ(value_of<cl_context>(query_of(program, CL_PROGRAM_CONTEXT)), context_.get());
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), "");
  EXPECT_EQ(run(program, "where", 128, 16), where_expected(128, 16));
}

TEST_F(ClLinkProgram, ReleasesNeedNoOrder) {
  Program program;
  {
    const Program kernel = compiled(kWhereKernel);
    const Program helpers = compiled(kWhereHelpers);
    program = linked({kernel, helpers});
  }
  EXPECT_EQ(run(program, "where", 64, 16), where_expected(64, 16));
}

TEST_F(ClLinkProgram, OneObject) {
  const Program unit =
      compiled("kernel void one(global int* out) { out[get_global_id(0)] = get_group_id(0); }\n");
  EXPECT_EQ(run(linked({unit}), "one", 8, 4), (std::vector<cl_int>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(ClLinkProgram, KernelsOfSeveralUnits) {
  // Static functions of one name, -D that differs, and constants of another unit.
  const char* source =
      "extern constant int table[4];\n"
      "static int value(void) { return VALUE; }\n"
      "kernel void NAME(global int* out) {\n"
      "  out[get_global_id(0)] = value() + table[get_global_id(0) & 3];\n"
      "}\n";
  const Program first = compiled(source, "-DNAME=first -DVALUE=100");
  const Program second = compiled(source, "-DNAME=second -DVALUE=200");
  const Program table = compiled("constant int table[4] = {1, 2, 3, 4};\n");
  const Program program = linked({first, second, table});
  EXPECT_EQ(value_of<size_t>(query_of(program, CL_PROGRAM_NUM_KERNELS)), 2u);
  EXPECT_EQ(run(program, "first", 4), (std::vector<cl_int>{101, 102, 103, 104}));
  EXPECT_EQ(run(program, "second", 4), (std::vector<cl_int>{201, 202, 203, 204}));
}

TEST_F(ClLinkProgram, ObjectsAreUsedAgain) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  const Program other = compiled(
      "int step(int i);\n"
      "kernel void other(global int* out) { out[get_global_id(0)] = step(1); }\n");
  const Program one = linked({kernel, helpers});
  const Program two = linked({other, helpers});
  EXPECT_EQ(run(one, "where", 64, 16), where_expected(64, 16));
  EXPECT_EQ(run(two, "other", 10), std::vector<cl_int>(10, 71));
}

TEST_F(ClLinkProgram, Libraries) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  const Program library = linked({helpers}, "-create-library");
  EXPECT_EQ(status(library), CL_BUILD_SUCCESS);
  EXPECT_EQ(type(library), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_LIBRARY});
  EXPECT_EQ(string_of(query_of(library, device_, CL_PROGRAM_BUILD_OPTIONS)), "-create-library");
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateKernel(library, "where", &code), nullptr);
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE, code);

  const Program first = linked({kernel, library});
  const Program second = linked({library, kernel}, "-cl-fast-relaxed-math");
  EXPECT_EQ(run(first, "where", 64, 16), where_expected(64, 16));
  EXPECT_EQ(run(second, "where", 64, 8), where_expected(64, 8));
}

TEST_F(ClLinkProgram, LibraryOfLibraries) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  // Names may stay unresolved in a library.
  const Program inner = linked({kernel}, "-create-library -enable-link-options");
  const Program outer = linked({inner, helpers}, "-create-library");
  EXPECT_EQ(run(linked({outer}), "where", 64, 16), where_expected(64, 16));
}

TEST_F(ClLinkProgram, KernelCalledFromAnotherUnit) {
  const Program callee = compiled(
      "kernel void fill(global int* out) {\n"
      "  out[get_global_id(0)] = (int)get_group_id(0) + (int)get_num_groups(0) * 100;\n"
      "}\n");
  const Program caller = compiled(
      "kernel void fill(global int* out);\n"
      "kernel void twice(global int* out) { fill(out); out[get_global_id(0)] *= 2; }\n");
  const Program program = linked({callee, caller});
  std::vector<cl_int> expected(64);
  for (int i = 0; i < 64; ++i) expected[static_cast<size_t>(i)] = 2 * (i / 16 + 400);
  EXPECT_EQ(run(program, "twice", 64, 16), expected);
}

TEST_F(ClLinkProgram, UnresolvedNames) {
  const Program kernel = compiled(kWhereKernel);
  cl_int code = CL_SUCCESS;
  // "If the linking operation can begin, clLinkProgram returns a valid non-zero program object."
  const Program program = link({kernel}, "", code);
  EXPECT_CL(CL_LINK_PROGRAM_FAILURE, code);
  ASSERT_NE(program.get(), nullptr);
  EXPECT_EQ(status(program), CL_BUILD_ERROR);
  EXPECT_NE(log(program).find("group_place"), std::string::npos) << log(program);
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_NONE});
}

TEST_F(ClLinkProgram, NamesDefinedTwice) {
  const Program helpers = compiled(kWhereHelpers);
  const Program kernel = compiled(kWhereKernel);
  cl_int code = CL_SUCCESS;
  const Program program = link({kernel, helpers, helpers}, "", code);
  EXPECT_CL(CL_LINK_PROGRAM_FAILURE, code);
}

TEST_F(ClLinkProgram, InvalidOptions) {
  const Program kernel = compiled("kernel void k(global int* out) { out[0] = 1; }\n");
  // "CL_INVALID_LINKER_OPTIONS if the linker options specified by options are invalid."
  for (const char* wrong : {"-no-such-option", "-DX=1", "-enable-link-options"}) {
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(link({kernel}, wrong, code).get(), nullptr) << wrong;
    EXPECT_CL(CL_INVALID_LINKER_OPTIONS, code) << wrong;
  }
}

TEST_F(ClLinkProgram, InputsThatAreNotCompiled) {
  const char* source = "kernel void k(global int* out) { out[0] = 1; }\n";
  const Program object = compiled(source);
  const Program only_source = create(source);
  const Program executable = build(source);
  cl_int code = CL_SUCCESS;
  // "CL_INVALID_OPERATION if the rules for devices containing compiled binaries or libraries as
  // described in input_programs argument above are not followed."
  EXPECT_EQ(link({only_source}, "", code).get(), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(link({object, only_source}, "", code).get(), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(link({executable}, "", code).get(), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
}

TEST_F(ClLinkProgram, LinkedProgramsAreNotBuiltAgain) {
  const Program object = compiled("kernel void k(global int* out) { out[0] = 1; }\n");
  const Program program = linked({object});
  // "CL_INVALID_OPERATION if program was not created with clCreateProgramWithSource,
  // clCreateProgramWithIL or clCreateProgramWithBinary."
  EXPECT_CL(CL_INVALID_OPERATION, clBuildProgram(program, 1, &device_, "", nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION, compile(program));
}

TEST_F(ClLinkProgram, RejectsBadArguments) {
  const Program object = compiled("kernel void k(global int* out) { out[0] = 1; }\n");
  cl_int code = CL_SUCCESS;
  const auto call = [&](cl_context context, cl_uint devices, const cl_device_id* list,
                        cl_uint inputs, const cl_program* programs, void* data) {
    EXPECT_EQ(clLinkProgram(context, devices, list, "", inputs, programs, nullptr, data, &code),
              nullptr);
    return code;
  };
  EXPECT_CL(CL_INVALID_CONTEXT, call(nullptr, 1, &device_, 1, object.list(), nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 0, &device_, 1, object.list(), nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 1, nullptr, 1, object.list(), nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 1, &device_, 0, object.list(), nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 1, &device_, 1, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 1, &device_, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(context_, 1, &device_, 1, object.list(), &code));
}

TEST_F(ClLinkProgram, RejectsBadObjects) {
  const Program object = compiled("kernel void k(global int* out) { out[0] = 1; }\n");
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(link({object, nullptr}, "", code).get(), nullptr);
  EXPECT_CL(CL_INVALID_PROGRAM, code);
  const cl_device_id none = nullptr;
  EXPECT_EQ(clLinkProgram(context_, 1, &none, "", 1, object.list(), nullptr, nullptr, &code),
            nullptr);
  EXPECT_CL(CL_INVALID_DEVICE, code);
  const Context other = make_context();
  EXPECT_EQ(clLinkProgram(other, 1, &device_, "", 1, object.list(), nullptr, nullptr, &code),
            nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
}

TEST_F(ClLinkProgram, CallsBack) {
  const Program kernel = compiled(kWhereKernel);
  const Program helpers = compiled(kWhereHelpers);
  const cl_program inputs[] = {kernel, helpers};
  for (const bool good : {true, false}) {
    Notified notified;
    cl_int code = CL_INVALID_VALUE;
    const Program program(
        clLinkProgram(context_, 1, &device_, "", good ? 2 : 1, inputs, notify, &notified, &code));
    ASSERT_SUCCESS(code);
    ASSERT_NE(program.get(), nullptr);
    ASSERT_TRUE(notified.latch.wait());
    EXPECT_EQ(notified.program, program.get());
    EXPECT_EQ(status(program), good ? CL_BUILD_SUCCESS : CL_BUILD_ERROR);
    if (good) {
      EXPECT_EQ(run(program, "where", 64, 16), where_expected(64, 16));
    }
  }
}

}  // namespace
}  // namespace tutti::api_tests
