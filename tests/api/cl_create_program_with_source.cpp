// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCreateProgramWithSource : public QueueTest {
 protected:
  cl_int run_answer(cl_program program) {
    const Kernel kernel = make_kernel(program, "answer");
    const Buffer out = make_buffer(4);
    set_args(kernel, out);
    EXPECT_SUCCESS(launch(kernel, 1, 1));
    return read_all<cl_int>(out, 1)[0];
  }
};

const char kAnswer[] = "kernel void answer(global int* out) { out[0] = 42; }";

TEST_F(ClCreateProgramWithSource, StringsAndLengthsInEveryForm) {
  const char* whole[] = {kAnswer};
  // Cut in three; the middle one carries a length, and what lies behind it must not be read.
  const char* parts[] = {"kernel void answer(", "global int* out)this is not OpenCL C",
                         " { out[0] = 42; }"};
  const size_t zero_lengths[] = {0, 16, 0};
  const size_t lengths[] = {19, 16, 17};
  const size_t one_length[] = {sizeof(kAnswer) - 1};
  struct Case {
    cl_uint count;
    const char** strings;
    const size_t* sizes;
  };
  for (const Case& c : {Case{1, whole, nullptr}, Case{1, whole, one_length},
                        Case{3, parts, zero_lengths}, Case{3, parts, lengths}}) {
    cl_int code = CL_SUCCESS;
    const Program program(clCreateProgramWithSource(context_, c.count, c.strings, c.sizes, &code));
    ASSERT_SUCCESS(code);
    EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), kAnswer);
    ASSERT_SUCCESS(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr));
    EXPECT_EQ(run_answer(program), 42);
  }
}

TEST_F(ClCreateProgramWithSource, TheTextIsCopied) {
  std::string text = kAnswer;
  const char* pointer = text.c_str();
  cl_int code = CL_SUCCESS;
  const Program program(clCreateProgramWithSource(context_, 1, &pointer, nullptr, &code));
  ASSERT_SUCCESS(code);
  std::fill(text.begin(), text.end(), '!');
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_SOURCE)), kAnswer);
}

TEST_F(ClCreateProgramWithSource, RejectsBadArguments) {
  const char* strings[] = {kAnswer, nullptr};
  cl_int code = CL_SUCCESS;
  auto create = [&](cl_context context, cl_uint count, const char** list) {
    EXPECT_EQ(clCreateProgramWithSource(context, count, list, nullptr, &code), nullptr);
    return code;
  };
  // "CL_INVALID_VALUE if count is zero or if strings or any entry in strings is NULL."
  EXPECT_CL(CL_INVALID_VALUE, create(context_, 0, strings));
  EXPECT_CL(CL_INVALID_VALUE, create(context_, 1, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, create(context_, 2, strings));
  // "CL_INVALID_CONTEXT if context is not a valid context."
  EXPECT_CL(CL_INVALID_CONTEXT, create(nullptr, 1, strings));
}

}  // namespace
}  // namespace tutti::api_tests
