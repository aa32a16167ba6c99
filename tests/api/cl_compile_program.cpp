// SPDX-License-Identifier: Apache-2.0
#include "linking.h"

namespace tutti::api_tests {
namespace {

using ClCompileProgram = LinkTest;

const char kValue[] = "kernel void value(global int* out) { out[get_global_id(0)] = VALUE; }\n";

TEST_F(ClCompileProgram, GivesACompiledObject) {
  const Program program = create(kValue);
  EXPECT_SUCCESS(compile(program, "-DVALUE=7"));
  EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT});
  EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_OPTIONS)), "-DVALUE=7");
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), kValue);
  // "CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for program."
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateKernel(program, "value", &code), nullptr);
  EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE, code);
}

TEST_F(ClCompileProgram, FailureHasALog) {
  const Program program = create("kernel void broken() { no_such_thing }\n");
  EXPECT_CL(CL_COMPILE_PROGRAM_FAILURE, compile(program));
  EXPECT_EQ(status(program), CL_BUILD_ERROR);
  EXPECT_NE(log(program).find("no_such_thing"), std::string::npos) << log(program);
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_NONE});
}

TEST_F(ClCompileProgram, InvalidOptions) {
  const Program program = create(kValue);
  // "CL_INVALID_COMPILER_OPTIONS if the compiler options specified by options are invalid."
  EXPECT_CL(CL_INVALID_COMPILER_OPTIONS, compile(program, "-no-such-option"));
  EXPECT_CL(CL_INVALID_COMPILER_OPTIONS, compile(program, "-create-library"));
}

TEST_F(ClCompileProgram, HeadersAreFoundByTheirNames) {
  const Program value = create("#include \"parts/more.h\"\n#define VALUE (MORE + 1)\n");
  const Program more = create("#define MORE 41\n");
  const cl_program headers[] = {value, more};
  const char* names[] = {"value.h", "parts/more.h"};
  const Program program = create(
      "#include \"value.h\"\n"
      "kernel void value(global int* out) { out[get_global_id(0)] = VALUE; }\n");
  ASSERT_SUCCESS(clCompileProgram(program, 1, &device_, "", 2, headers, names, nullptr, nullptr))
      << log(program);
  EXPECT_EQ(run(linked({program}), "value", 4), std::vector<cl_int>(4, 42));
}

TEST_F(ClCompileProgram, MissingHeader) {
  const Program program = create("#include \"not_given.h\"\n");
  EXPECT_CL(CL_COMPILE_PROGRAM_FAILURE, compile(program));
  EXPECT_NE(log(program).find("not_given.h"), std::string::npos);
}

TEST_F(ClCompileProgram, AgainWithOtherOptions) {
  const Program program = create(kValue);
  for (const int value : {1, 2}) {
    ASSERT_SUCCESS(compile(program, ("-DVALUE=" + std::to_string(value)).c_str()));
    EXPECT_EQ(run(linked({program}), "value", 2), std::vector<cl_int>(2, value));
  }
}

TEST_F(ClCompileProgram, BuildAndCompileReplaceEachOther) {
  const Program program = create(kValue);
  ASSERT_SUCCESS(compile(program, "-DVALUE=1"));
  ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, "-DVALUE=2", nullptr, nullptr));
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_EXECUTABLE});
  EXPECT_EQ(run(program, "value", 2), std::vector<cl_int>(2, 2));
  ASSERT_SUCCESS(compile(program, "-DVALUE=3"));
  EXPECT_EQ(type(program), cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT});
}

TEST_F(ClCompileProgram, WithAttachedKernels) {
  const Program program = build(kValue, "-DVALUE=1");
  const Kernel kernel = make_kernel(program, "value");
  // "CL_INVALID_OPERATION if there are kernel objects attached to program."
  EXPECT_CL(CL_INVALID_OPERATION, compile(program, "-DVALUE=2"));
}

TEST_F(ClCompileProgram, CallsBack) {
  const Program program = create(kValue);
  Notified notified;
  ASSERT_SUCCESS(
      clCompileProgram(program, 1, &device_, "-DVALUE=5", 0, nullptr, nullptr, notify, &notified));
  ASSERT_TRUE(notified.latch.wait());
  EXPECT_EQ(notified.program, program.get());
  EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
  EXPECT_EQ(run(linked({program}), "value", 2), std::vector<cl_int>(2, 5));
}

TEST_F(ClCompileProgram, RejectsBadArguments) {
  const Program program = create(kValue);
  const Program header = create("#define X 1\n");
  const cl_program headers[] = {header};
  const char* names[] = {"x.h"};
  EXPECT_CL(CL_INVALID_PROGRAM, compile(nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 0, &device_, "", 0, nullptr, nullptr, nullptr, nullptr));
  // "CL_INVALID_VALUE if num_input_headers is zero and header_include_names or input_headers are
  // not NULL or if num_input_headers is not zero and header_include_names or input_headers are
  // NULL."
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, &device_, "", 0, headers, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, &device_, "", 0, nullptr, names, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, &device_, "", 1, nullptr, names, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, &device_, "", 1, headers, nullptr, nullptr, nullptr));
  int data = 0;
  EXPECT_CL(CL_INVALID_VALUE,
            clCompileProgram(program, 1, &device_, "", 0, nullptr, nullptr, nullptr, &data));
}

TEST_F(ClCompileProgram, ForeignDevice) {
  const Program program = create(kValue);
  const cl_device_id none = nullptr;
  EXPECT_CL(CL_INVALID_DEVICE,
            clCompileProgram(program, 1, &none, "", 0, nullptr, nullptr, nullptr, nullptr));
}

TEST_F(ClCompileProgram, HeaderOfAnotherContext) {
  const Program program = create(kValue);
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const char* text = "#define X 1\n";
  const Program header(clCreateProgramWithSource(other, 1, &text, nullptr, &code));
  ASSERT_SUCCESS(code);
  const char* name = "x.h";
  // "CL_INVALID_CONTEXT if the context associated with program and programs in input_headers are
  // not the same" (of OpenCL 3.0; before, the error had no name).
  EXPECT_CL(CL_INVALID_CONTEXT, clCompileProgram(program, 1, &device_, "-DVALUE=1", 1,
                                                 header.list(), &name, nullptr, nullptr));
}

TEST_F(ClCompileProgram, ProgramFromABinary) {
  const Program built = build(kValue, "-DVALUE=1");
  const Program program = loaded(binary_of(built));
  // "CL_INVALID_OPERATION if program has no source or IL available."
  EXPECT_CL(CL_INVALID_OPERATION, compile(program));
}

}  // namespace
}  // namespace tutti::api_tests
