// SPDX-License-Identifier: Apache-2.0
// The shard variant as text, and of which kernels there is one. (That it computes the right things
// is shown by random kernels with TUTTI_SHARDS=always.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using ::testing::HasSubstr;

CompileOutput sharded(const std::string& source, const std::string& options = {},
                      bool panels = false) {
  const CompileOutput first = compiled(source, options);
  CompileRequest request = request_for({});
  request.units = {
      {first.original.empty() ? first.preprocessed : first.original, first.vendor_options}};
  request.shards = true;
  request.panels = panels;
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
  EXPECT_THAT(
      text, HasSubstr("kernel void k(global float* a, float x, const global volatile int* restrict "
                      "b, ulong16 __tutti_sh) {a=(__global void*)((size_t)a-(size_t)__tutti_sh.s0);"
                      "b=(__global void*)((size_t)b-(size_t)__tutti_sh.s2);\n"
                      "  a[get_global_id(0)] = b[get_global_id(0)] + x;\n"));
  EXPECT_EQ(kernel_of(output).shard_arguments, 5u);
  EXPECT_FALSE(kernel_of(output).needs_rewrite);
}

TEST(ShardVariant, TheOtherHiddenArgumentComesBefore) {
  const CompileOutput output = sharded(
      "void put(global int* o) { o[get_group_id(0)] = 1; }\n"
      "kernel void k(global int* o) { put(o); }\n"
      "kernel void plain(int n) {}\n");
  const std::string text = text_of(output);
  EXPECT_THAT(
      text,
      HasSubstr("kernel void k(global int* o, ulong16 __tutti_nd, ulong16 __tutti_sh) {"
                "o=(__global void*)((size_t)o-(size_t)__tutti_sh.s0); put(o, __tutti_nd); }"));
  EXPECT_THAT(text, HasSubstr("kernel void plain(int n) {}"));
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

CompileOutput with_panels(const std::string& source) { return sharded(source, {}, true); }

TEST(PanelVariant, SubscriptsOfArgumentsAreComputed) {
  const CompileOutput output = with_panels(
      "kernel void k(global const float *restrict a, int n, global float4* b, global float* c) {\n"
      "  *c = a[n * 3 + 1] + a [(int)a[get_local_id(0)]] + b[n].x;\n"
      "}\n");
  const std::string text = text_of(output);
  EXPECT_THAT(text,
              HasSubstr("size_t __tutti_at(ulong at,ulong before,ulong pitch,ulong width,ulong "
                        "inverse)"));
  EXPECT_THAT(text, HasSubstr("global float* c, ulong16 __tutti_sh, ulong16 __tutti_pa) {"
                              "c=(__global void*)((size_t)c-(size_t)__tutti_sh.s3);\n"));
  EXPECT_THAT(text,
              HasSubstr("a[__tutti_at((ulong)(n * 3 + 1)*sizeof(a[0]),__tutti_sh.s0,__tutti_pa.s0,"
                        "__tutti_pa.s1,__tutti_pa.s2)/sizeof(a[0])]"));
  EXPECT_THAT(text, HasSubstr("b[__tutti_at((ulong)(n)*sizeof(b[0]),__tutti_sh.s2,__tutti_pa.s3,"
                              "__tutti_pa.s4,__tutti_pa.s5)/sizeof(b[0])].x"));
  EXPECT_EQ(kernel_of(output).shard_arguments, 13u);
  EXPECT_EQ(kernel_of(output).panel_arguments, 5u);
}

TEST(PanelVariant, OtherUsesOfAnArgumentForbidThem) {
  for (const std::string use :
       {"b[0] = *a;", "b[0] = *(3 + a);", "b[0] = *(a + 3 + b[1]);", "b[0] = *(&*(a + 3));",
        "b[0] = *(a - 3);", "global int* p = a; b[0] = a[1] + p[2];", "b[0] = a[1] + *(&a[2]);",
        "b[0] = a[1]; ++a;", "b[0] = a[1] + helper(a);", "b[0] = a[1] + 2[a];", "b[0] = (a)[1];",
        "b[0] = vload2(0, a).x + a[1];", "b[0] = atomic_inc(&a[1]);"}) {
    const CompileOutput output = with_panels(
        "int helper(global int* p) { return p[1]; }\n"
        "kernel void k(global int* a, global int* b) {" +
        use + "}");
    EXPECT_EQ(kernel_of(output).shard_arguments, 3u) << use;
    EXPECT_EQ(kernel_of(output).panel_arguments, 2u) << use;
    text_of(output);
  }
}

TEST(PanelVariant, SoAreSumsWithThem) {
  const CompileOutput output = with_panels(
      "kernel void k(global int* a, global int* b) {\n"
      "  *(a + *(b + (1 + get_group_id(0)))) = (*( a\n + b [2]));\n"
      "}\n");
  const std::string text = text_of(output);
  EXPECT_THAT(text,
              HasSubstr("*(b +__tutti_at((ulong)( (1 + __tutti_get_group_id(0, __tutti_nd)))*"
                        "sizeof(b[0]),__tutti_sh.s1,__tutti_pa.s3,__tutti_pa.s4,__tutti_pa.s5)/"
                        "sizeof(b[0]))"));
  EXPECT_EQ(kernel_of(output).panel_arguments, 3u);
}

TEST(PanelVariant, PartsOfElementsAreTheirs) {
  const CompileOutput output = with_panels(
      "typedef struct { float v[4]; int n, more[3]; } cell;\n"
      "float sum(const cell c) { return c.v[0]; }\n"
      "kernel void k(global cell* a, global cell* b, global float* o, global float (*m)[4]) {\n"
      "  global float* inside = b[1].v;\n"
      "  o[get_global_id(0)] = sum(a[2]) + a[3].n + inside[1] + m[0][1];\n"
      "}\n");
  EXPECT_EQ(kernel_of(output).panel_arguments, 5u);
  text_of(output);
}

// Rows of panels begin at multiples of powers of 2.
TEST(PanelVariant, ElementsOfOtherSizesHaveNone) {
  for (const auto& [type, fits] : {std::pair{"struct { int v[3]; }", false},
                                   {"struct { int v[4]; }", true},
                                   {"struct { char v[3]; }", false},
                                   {"double16", true},
                                   {"float3", true},
                                   {"struct { double16 v; }", true},
                                   {"struct { double16 v[2]; }", false}}) {
    const CompileOutput output = with_panels(std::string("typedef ") + type +
                                             " cell;\n"
                                             "kernel void k(global cell* a, global int* o) {\n"
                                             "  cell one = a[get_global_id(0)]; o[0] = 1;\n"
                                             "}\n");
    EXPECT_EQ(kernel_of(output).panel_arguments, fits ? 3u : 2u) << type;
    text_of(output);
  }
}

TEST(PanelVariant, TheFirstFiveHaveThem) {
  const CompileOutput output = with_panels(
      "kernel void k(global int* a, global int* b, global int* c, global int* d, global int* e,\n"
      "              global int* f) {\n"
      "  a[0] = b[0] + c[0] + d[0] + e[0] + f[0];\n"
      "}\n");
  EXPECT_EQ(kernel_of(output).panel_arguments, 31u);
  text_of(output);
}

}  // namespace
}  // namespace tutti::kernel_compiler
