// SPDX-License-Identifier: Apache-2.0
// The shard variant as text, and of which kernels there is one. (That it computes the right things
// is shown by random kernels with TUTTI_SHARDS=always.)
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

CompileOutput sharded(const std::string& source, const std::string& options = {}) {
  const CompileOutput first = compiled(source, options);
  CompileRequest request = request_for({});
  request.units = {
      {first.original.empty() ? first.preprocessed : first.original, first.vendor_options}};
  request.shards = true;
  return compiled(request);
}

std::string text_of(const CompileOutput& output) {
  const std::string& text = output.units.at(0).rewritten;
  if (!text.empty()) compiled(text, "-Werror");
  return text;
}

TEST(ShardVariant, PointersAreShiftedAtTheBeginOfTheKernel) {
  const CompileOutput output = sharded(
      "kernel void k(global float* a, float x, const global volatile int* restrict b) {\n"
      "  a[get_global_id(0)] = b[get_global_id(0)] + x;\n"
      "}\n");
  const std::string text = text_of(output);
  EXPECT_NE(text.find("kernel void k(global float* a, float x, const global volatile int* restrict "
                      "b, ulong16 __tutti_sh) {a=(__global void*)((size_t)a-(size_t)__tutti_sh.s0);"
                      "b=(__global void*)((size_t)b-(size_t)__tutti_sh.s2);\n"
                      "  a[get_global_id(0)] = b[get_global_id(0)] + x;\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(kernel_of(output).shard_arguments, 5u);
  EXPECT_FALSE(kernel_of(output).needs_rewrite);
}

TEST(ShardVariant, TheOtherHiddenArgumentComesBefore) {
  const CompileOutput output = sharded(
      "void put(global int* o) { o[get_group_id(0)] = 1; }\n"
      "kernel void k(global int* o) { put(o); }\n"
      "kernel void plain(int n) {}\n");
  const std::string text = text_of(output);
  EXPECT_NE(text.find("kernel void k(global int* o, ulong16 __tutti_nd, ulong16 __tutti_sh) {"
                      "o=(__global void*)((size_t)o-(size_t)__tutti_sh.s0); put(o, __tutti_nd); }"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("kernel void plain(int n) {}"), std::string::npos);
  EXPECT_EQ(kernel_of(output, "k").shard_arguments, 1u);
  EXPECT_TRUE(kernel_of(output, "k").needs_rewrite);
  EXPECT_EQ(kernel_of(output, "plain").shard_arguments, 0u);
}

TEST(ShardVariant, WhatCannotBeShiftedIsNot) {
  const CompileOutput output = sharded(
      "kernel void k(global int* const a, constant int* b, local int* c, global int* d) {\n"
      "  a[get_global_id(0)] = b[0] + c[0] + d[0];\n"
      "}\n"
      "kernel void callee(global int* a) { a[get_global_id(0)] = 1; }\n"
      "kernel void caller(global int* a) { callee(a); }\n");
  EXPECT_EQ(kernel_of(output, "k").shard_arguments, 8u);
  EXPECT_EQ(kernel_of(output, "callee").shard_arguments, 0u);
  EXPECT_EQ(kernel_of(output, "caller").shard_arguments, 1u);
  text_of(output);
}

TEST(ShardVariant, ProgramsThatCompareAddressesHaveNone) {
  for (const std::string use :
       {"if (a < b) a[0] = 1;", "if (a) a[0] = 1;", "a[b - a] = 1;", "a[0] = (int)(size_t)a;",
        "for (global int* p = a; p != a + 4; ++p) *p = 1;", "a[0] = !a;"}) {
    const CompileOutput output =
        sharded("kernel void k(global int* a, global int* b) {" + use + "}");
    EXPECT_EQ(kernel_of(output).shard_arguments, 0u) << use;
    EXPECT_EQ(output.units.at(0).rewritten, "") << use;
  }
}

TEST(ShardVariant, TheSummaryIsThatOfTheProgram) {
  const std::string source =
      "#define N 4\n"
      "kernel void k(global int* a, global const int* b, int n) {\n"
      "  int i = get_global_id(0);\n"
      "  if (i < n) for (int j = 0; j < N; ++j) a[i * N + j] = b[i] + get_group_id(0);\n"
      "}\n";
  CompileOutput program = compiled(source, "-DX=1"), variant = sharded(source, "-DX=1");
  EXPECT_EQ(variant.summary.kernels.at(0).accesses, program.summary.kernels.at(0).accesses);
  EXPECT_NE(text_of(variant), "");
}

}  // namespace
}  // namespace tutti::kernel_compiler
