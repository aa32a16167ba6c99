// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

const char kOptionSource[] = R"CLC(
#ifndef VALUE
#define VALUE 1
#endif
#ifdef USE_HEADER
#include "answer_of_header.h"
#else
#define ANSWER_OF_HEADER 0
#endif
#ifdef __FAST_RELAXED_MATH__
#define FAST 1
#else
#define FAST 0
#endif
#ifdef __EMBEDDED_PROFILE__
#define FULL 0
#else
#define FULL 1
#endif
kernel void options(global int* out) {
  out[0] = VALUE;
  out[1] = ANSWER_OF_HEADER;
  out[2] = FAST;
  out[3] = FULL;
  out[4] = __OPENCL_VERSION__ >= 100;
  out[5] = __OPENCL_C_VERSION__;
#ifdef EMPTY
  out[6] = 1;
#else
  out[6] = 0;
#endif
  out[7] = __ENDIAN_LITTLE__;
}
)CLC";

class ClBuildProgram : public QueueTest {
 protected:
  Program create(const char* source) {
    cl_int code = CL_SUCCESS;
    Program program(clCreateProgramWithSource(context_, 1, &source, nullptr, &code));
    EXPECT_SUCCESS(code);
    return program;
  }
  cl_int build_with(cl_program program, const char* build_options) {
    return clBuildProgram(program, 1, &device_, build_options, nullptr, nullptr);
  }
  cl_build_status status(cl_program program) {
    return value_of<cl_build_status>(query_of(program, device_, CL_PROGRAM_BUILD_STATUS));
  }
  std::string log(cl_program program) {
    return string_of(query_of(program, device_, CL_PROGRAM_BUILD_LOG));
  }
  std::vector<cl_int> run_options(const std::string& build_options) {
    const Program program = build(kOptionSource, build_options);
    const Kernel kernel = make_kernel(program, "options");
    if (kernel.get() == nullptr) return std::vector<cl_int>(8, -1);
    const Buffer out = make_buffer(32);
    set_args(kernel, out);
    EXPECT_SUCCESS(launch(kernel, 1, 1));
    return read_all<cl_int>(out, 8);
  }
};

TEST_F(ClBuildProgram, Macros) {
  const std::vector<cl_int> plain = run_options("");
  EXPECT_EQ(plain[0], 1);
  EXPECT_EQ(plain[4], 1);
  EXPECT_EQ(plain[6], 0);
  EXPECT_EQ(plain[7], 1);
  EXPECT_EQ(run_options("-DVALUE=7")[0], 7);
  EXPECT_EQ(run_options("-D VALUE=0x20")[0], 32);
  // "The contents of definition are tokenized": -D name is 1
  const std::vector<cl_int> several = run_options("  -D EMPTY   -D VALUE=3  ");
  EXPECT_EQ(several[0], 3);
  EXPECT_EQ(several[6], 1);
}

TEST_F(ClBuildProgram, ImageSupportMacroTellsOfTheDevice) {
  // "__IMAGE_SUPPORT__: […] This is an integer constant of 1 if images are supported and is
  // undefined otherwise."
  const Program program = build(
      "#ifdef __IMAGE_SUPPORT__\n"
      "kernel void images_are(global int* out) { out[0] = __IMAGE_SUPPORT__; }\n"
      "#else\n"
      "kernel void images_are_not(global int* out) { out[0] = 1; }\n"
      "#endif\n");
  const bool images = value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) != CL_FALSE;
  make_kernel(program, images ? "images_are" : "images_are_not");
}

TEST_F(ClBuildProgram, LanguageVersion) {
  EXPECT_EQ(run_options("-cl-std=CL1.2")[5], 120);
  for (const auto& [version, option] :
       {std::pair{300, "-cl-std=CL3.0"}, std::pair{310, "-cl-std=CL3.1"}}) {
    if (device_supports_c(version)) {
      EXPECT_EQ(run_options(option)[5], version);
    } else if (device_version() >= 300) {
      // "Calls … with the -cl-std=CL3.1 option will fail to compile the program for any devices
      // when CL_DEVICE_OPENCL_C_ALL_VERSIONS does not include OpenCL C 3.1."
      const char* source = "kernel void k(global int* o) { o[0] = 1; }";
      const Program program(clCreateProgramWithSource(context_, 1, &source, nullptr, nullptr));
      EXPECT_NE(clBuildProgram(program, 0, nullptr, option, nullptr, nullptr), CL_SUCCESS);
    }
  }
}

TEST_F(ClBuildProgram, MathAndOptimisationOptions) {
  EXPECT_EQ(run_options("-cl-fast-relaxed-math")[2], 1);
  // One build with all the others of the specification's list that a program may always give. (Of
  // -cl-strict-aliasing, which is deprecated since OpenCL 1.1, some vendors know nothing.)
  EXPECT_EQ(run_options("-cl-mad-enable -cl-no-signed-zeros -cl-unsafe-math-optimizations "
                        "-cl-finite-math-only -cl-denorms-are-zero -cl-single-precision-constant "
                        "-cl-kernel-arg-info -w -DVALUE=5")[0],
            5);
  EXPECT_EQ(run_options("-cl-opt-disable -DVALUE=6")[0], 6);
}

TEST_F(ClBuildProgram, IncludeDirectory) {
  char directory[] = "/tmp/tutti-api-tests-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string header = std::string(directory) + "/answer_of_header.h";
  // The answer carries the process's number, so that no cached program can give it.
  const int answer = 1000 + getpid() % 10000;
  std::ofstream(header) << "#define ANSWER_OF_HEADER " << answer << "\n";
  EXPECT_EQ(run_options(std::string("-DUSE_HEADER -I ") + directory)[1], answer);
  EXPECT_EQ(run_options(std::string("-I") + directory + " -DUSE_HEADER")[1], answer);
  // A changed header is a changed program.
  std::ofstream(header) << "#define ANSWER_OF_HEADER " << answer + 1 << "\n";
  EXPECT_EQ(run_options(std::string("-DUSE_HEADER -I ") + directory)[1], answer + 1);
  std::remove(header.c_str());
  rmdir(directory);
}

TEST_F(ClBuildProgram, WarningsAsErrors) {
  // "-Werror: make all warnings into errors"
  const Program program = create("#warning this is suspicious\nkernel void k() {}");
  EXPECT_CL(CL_BUILD_PROGRAM_FAILURE, build_with(program, "-Werror"));
  EXPECT_NE(log(program).find("this is suspicious"), std::string::npos);
  EXPECT_SUCCESS(build_with(program, ""));
}

TEST_F(ClBuildProgram, RejectsUnknownOption) {
  // "CL_INVALID_BUILD_OPTIONS if the build options specified by options are invalid."
  const Program program = create(kOptionSource);
  for (const char* bad : {"-this-is-no-option", "-cl-no-such-option"}) {
    EXPECT_TRUE(
        is_one_of(build_with(program, bad), {CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE}))
        << bad;
  }
  // The program is not spoilt.
  EXPECT_SUCCESS(build_with(program, ""));
}

TEST_F(ClBuildProgram, LogNamesTheOffendingLine) {
  const Program program = create(
      "int helper(int x) { return x; }\n"
      "kernel void broken(global int* out) {\n"
      "  out[0] = helper(undeclared_name_here);\n"
      "}\n");
  // "CL_BUILD_PROGRAM_FAILURE if there is a failure to build the program executable."
  EXPECT_CL(CL_BUILD_PROGRAM_FAILURE, build_with(program, ""));
  EXPECT_EQ(status(program), CL_BUILD_ERROR);
  const std::string text = log(program);
  EXPECT_NE(text.find("undeclared_name_here"), std::string::npos) << text;
  EXPECT_NE(text.find(":3:"), std::string::npos) << "the line's number is missing:\n" << text;
  if (options().tutti) {
    EXPECT_NE(text.find("out[0] = helper(undeclared_name_here);"), std::string::npos)
        << "the line itself is missing:\n"
        << text;
  }
}

TEST_F(ClBuildProgram, SyntaxErrorsOfManyKinds) {
  for (const char* source :
       {"kernel void k(global int* out) { out[0] = ; }", "kernel void k(global int* out) {",
        "kernel int k(global int* out) { return 0; }", "#error no\nkernel void k() {}",
        "#include \"there_is_no_such_header.h\"\nkernel void k() {}",
        "kernel void k(global int* out) { out[0] = 1 +* 2; }\x01"}) {
    const Program program = create(source);
    EXPECT_CL(CL_BUILD_PROGRAM_FAILURE, build_with(program, "")) << source;
    EXPECT_FALSE(log(program).empty()) << source;
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(clCreateKernel(program, "k", &code), nullptr);
    EXPECT_CL(CL_INVALID_PROGRAM_EXECUTABLE, code) << source;
  }
}

TEST_F(ClBuildProgram, RebuildWithOtherOptions) {
  const Program program = create(kOptionSource);
  for (const cl_int value : {11, 12, 11}) {
    const std::string text = "-DVALUE=" + std::to_string(value);
    ASSERT_SUCCESS(build_with(program, text.c_str()));
    EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
    EXPECT_EQ(string_of(query_of(program, device_, CL_PROGRAM_BUILD_OPTIONS)), text);
    const Kernel kernel = make_kernel(program, "options");
    const Buffer out = make_buffer(32);
    set_args(kernel, out);
    EXPECT_SUCCESS(launch(kernel, 1, 1));
    EXPECT_EQ(read_all<cl_int>(out, 8)[0], value);
  }
}

TEST_F(ClBuildProgram, RebuildAfterFailure) {
  const Program program = create("kernel void k(global int* out) { out[0] = MISSING; }");
  EXPECT_CL(CL_BUILD_PROGRAM_FAILURE, build_with(program, ""));
  EXPECT_SUCCESS(build_with(program, "-DMISSING=1"));
  EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
}

TEST_F(ClBuildProgram, RejectsRebuildWithKernelsAttached) {
  // "CL_INVALID_OPERATION if there are kernel objects attached to program."
  const Program program = create(kOptionSource);
  ASSERT_SUCCESS(build_with(program, ""));
  Kernel kernel = make_kernel(program, "options");
  EXPECT_CL(CL_INVALID_OPERATION, build_with(program, "-DVALUE=2"));
  kernel.reset();
  EXPECT_SUCCESS(build_with(program, "-DVALUE=2"));
}

struct NotifiedBuild {
  Latch latch{1};
  cl_program program = nullptr;
  cl_build_status status = CL_BUILD_NONE;
};

void CL_CALLBACK notify_build(cl_program program, void* user_data) {
  auto* notified = static_cast<NotifiedBuild*>(user_data);
  notified->program = program;
  // The callback may use the API: the specification demands only that it be thread-safe.
  clGetProgramBuildInfo(program, options().device, CL_PROGRAM_BUILD_STATUS,
                        sizeof(notified->status), &notified->status, nullptr);
  notified->latch.count_down();
}

TEST_F(ClBuildProgram, CallbackOnSuccess) {
  const Program program = create(kOptionSource);
  NotifiedBuild notified;
  // "If pfn_notify is not NULL, clBuildProgram does not need to wait for the build to complete"
  ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, "-DVALUE=7", notify_build, &notified));
  ASSERT_TRUE(notified.latch.wait());
  EXPECT_EQ(notified.program, program.get());
  EXPECT_EQ(notified.status, CL_BUILD_SUCCESS);
  EXPECT_EQ(status(program), CL_BUILD_SUCCESS);
}

TEST_F(ClBuildProgram, CallbackOnFailure) {
  const Program program = create("kernel void k() { nonsense; }");
  NotifiedBuild notified;
  EXPECT_TRUE(is_one_of(clBuildProgram(program, 0, nullptr, "", notify_build, &notified),
                        {CL_SUCCESS, CL_BUILD_PROGRAM_FAILURE}));
  ASSERT_TRUE(notified.latch.wait());
  EXPECT_EQ(notified.status, CL_BUILD_ERROR);
  EXPECT_EQ(status(program), CL_BUILD_ERROR);
}

TEST_F(ClBuildProgram, RejectsBadArguments) {
  const Program program = create(kOptionSource);
  int data = 0;
  // "CL_INVALID_PROGRAM if program is not a valid program object."
  EXPECT_CL(CL_INVALID_PROGRAM, clBuildProgram(nullptr, 0, nullptr, "", nullptr, nullptr));
  // "CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or if
  // device_list is not NULL and num_devices is zero."
  EXPECT_CL(CL_INVALID_VALUE, clBuildProgram(program, 1, nullptr, "", nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clBuildProgram(program, 0, &device_, "", nullptr, nullptr));
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  EXPECT_CL(CL_INVALID_VALUE, clBuildProgram(program, 1, &device_, "", nullptr, &data));
}

TEST_F(ClBuildProgram, RejectsForeignDevice) {
  const Program program = create(kOptionSource);
  // "CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with
  // program."
  const cl_device_id none = nullptr;
  EXPECT_CL(CL_INVALID_DEVICE, clBuildProgram(program, 1, &none, "", nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
