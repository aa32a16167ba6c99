// SPDX-License-Identifier: Apache-2.0
// Programs with some of their kernels: what is left out with the others, and that the rest is what
// it was.
#include <gtest/gtest.h>

#include <algorithm>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

CompileOutput compile_only(const std::string& source, std::vector<std::string> kernels) {
  CompileRequest request;
  request.units = {{source, ""}};
  request.kernels = std::move(kernels);
  request.extensions = {"cl_khr_fp64"};
  request.fp64 = true;
  request.images = true;
  return run(request);
}

/// What vendors get, without what separates its words.
std::string text_of(const CompileOutput& output) {
  EXPECT_TRUE(output.ok) << output.log;
  std::string text = output.units.empty() ? std::string() : output.units.front().preprocessed;
  std::string words;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space) {
      words += c;
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

TEST(KernelSelection, LeavesOutWhatOnlyOthersUse) {
  const std::string source = R"(
typedef double real;
struct unused { double x; };
typedef struct { float x, y; } pair, *pairs;
enum numbers { kOne = 1, kTwo };
constant double table[2] = {1.0, 2.0}, other = 3.0;
constant float both[2] = {1.0f, 2.0f};
real helper(real x);
real helper(real x) { return x * table[1] + other; }
float common(float x) { return x + both[kOne]; }
float indirect(pair p) { return common(p.x); }
kernel void doubles(global real* a) { a[get_global_id(0)] = helper(common(1.0f)); }
__attribute__((reqd_work_group_size(8, 1, 1))) kernel void floats(global float* a) {
  pair p = {1.0f, 2.0f};
  a[get_global_id(0)] = indirect(p);
})";
  EXPECT_EQ(text_of(compile_only(source, {"floats"})),
            "typedef struct { float x, y; } pair, *pairs; enum numbers { kOne = 1, kTwo }; "
            "constant float both[2] = {1.0f, 2.0f}; "
            "float common(float x) { return x + both[kOne]; } "
            "float indirect(pair p) { return common(p.x); } "
            "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void floats(global float* a) { "
            "pair p = {1.0f, 2.0f}; a[get_global_id(0)] = indirect(p); }");
  const CompileOutput doubles = compile_only(source, {"doubles"});
  const std::string text = text_of(doubles);
  EXPECT_EQ(text.find("floats"), std::string::npos);
  EXPECT_EQ(text.find("pair"), std::string::npos);
  EXPECT_NE(text.find("typedef double real;"), std::string::npos);
  EXPECT_NE(text.find("other = 3.0;"), std::string::npos);
  ASSERT_EQ(doubles.summary.kernels.size(), 1u);
  EXPECT_EQ(doubles.summary.kernels[0].name, "doubles");
  EXPECT_TRUE(doubles.summary.kernels[0].uses("cl_khr_fp64"));
}

TEST(KernelSelection, KeepsLinesAndFunctionsOfOneName) {
  const std::string source =
      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
      "float __attribute__((overloadable)) f(float x) { return x; }\n"
      "double __attribute__((overloadable)) f(double x) { return x; }\n"
      "kernel void d(global double* a) { a[0] = f(a[1]); }\n"
      "kernel void s(global float* a) { a[get_group_id(0)] = f(a[1]); }\n";
  const CompileOutput whole = compile_only(source, {"d", "s"});
  const CompileOutput part = compile_only(source, {"s"});
  const std::string text = text_of(part);
  EXPECT_EQ(text.find("double"), std::string::npos) << text;
  ASSERT_EQ(part.summary.kernels.size(), 1u);
  ASSERT_EQ(whole.summary.kernels.size(), 2u);
  EXPECT_EQ(part.summary.kernels[0], whole.summary.kernels[1]);
  EXPECT_FALSE(part.units.front().rewritten.empty());
  EXPECT_EQ(std::count(part.units.front().preprocessed.begin(),
                       part.units.front().preprocessed.end(), '\n'),
            std::count(source.begin(), source.end(), '\n'));
}

TEST(KernelSelection, WhatHasErrorsIsNotSelected) {
  EXPECT_FALSE(compile_only("kernel void k(global int* a) { a[0] = none; }", {"k"}).ok);
}

}  // namespace
}  // namespace tutti::kernel_compiler
