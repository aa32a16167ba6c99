// SPDX-License-Identifier: Apache-2.0
// The sub-range variant as text. That it computes the right things is real_device_test's matter.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

/// The rewritten text after the prelude and line marks; compiled again, which must succeed.
std::string rewritten(const std::string& source, const std::string& options = {}) {
  const CompileOutput output = compiled(source, options);
  if (output.rewritten.empty()) {
    return {};
  }
  const CompileOutput again = compiled(output.rewritten, options + " -Werror");
  EXPECT_EQ(again.summary.kernels.size(), output.summary.kernels.size());
  const std::string mark = "#line 1 \"<source>\"\n";
  const size_t at = output.rewritten.find(mark);
  EXPECT_NE(at, std::string::npos);
  std::string text = output.rewritten.substr(at + mark.size());
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

TEST(Rewriter, LeavesProgramsAloneThatNeedNothing) {
  const CompileOutput output = compiled(R"(
    kernel void k(global int* o) {
      o[get_global_id(0) + get_local_id(0) * get_local_size(0) + get_work_dim()] = 1;
    })");
  EXPECT_EQ(output.rewritten, "");
  EXPECT_FALSE(kernel_of(output).needs_rewrite);
}

/// No branch between the answers for several dimensions, which PoCL's compiler cannot resolve.
std::string guard_of(const std::string& name, const std::string& otherwise) {
  std::string text = "static size_t __tutti_any_" + name + "(uint d){return ";
  for (const std::string d : {"0", "1", "2"}) {
    text += (d == "0" ? "(" : "|(") + name + "(" + d + ")&-(size_t)(d==" + d + "u))";
  }
  return text + otherwise + ";}\n";
}

TEST(Rewriter, IdsOfDimensionsKnownAtRunTimeAreAskedOneByOne) {
  const CompileOutput output = compiled(
      "kernel void k(global int* o, uint d) {\n"
      "  o[get_global_id(d) + get_global_id(1) + get_local_id(3)] = get_group_id(d);\n"
      "}");
  EXPECT_EQ(output.preprocessed.substr(0, output.preprocessed.find("#line")),
            guard_of("get_global_id", "") + guard_of("get_group_id", ""));
  EXPECT_NE(output.preprocessed.find("o[__tutti_any_get_global_id(d) + get_global_id(1) + "
                                     "get_local_id(3)] = __tutti_any_get_group_id(d);"),
            std::string::npos);
  EXPECT_NE(output.rewritten.find("(get_group_id(2)&-(size_t)(d==2u))"), std::string::npos);
  EXPECT_EQ(output.rewritten.find("get_group_id(d)"), std::string::npos);
  compiled(output.preprocessed, "-Werror");
  compiled(output.rewritten, "-Werror");
}

TEST(Rewriter, SizesOfDimensionsThatMayNotExistAreGuarded) {
  const std::string source =
      "kernel void k(global int* o, uint d) {\n"
      "  o[get_global_size(d) + get_local_size(d) + get_local_size(1u + 1u)] = get_num_groups(3);\n"
      "}";
  const CompileOutput output = compiled(source);
  EXPECT_EQ(output.preprocessed.substr(0, output.preprocessed.find("#line")),
            guard_of("get_global_size", "|(size_t)(d>2u)") +
                guard_of("get_local_size", "|(size_t)(d>2u)") +
                guard_of("get_num_groups", "|(size_t)(d>2u)"));
  EXPECT_NE(
      output.preprocessed.find("o[__tutti_any_get_global_size(d) + __tutti_any_get_local_size(d) + "
                               "get_local_size(1u + 1u)] = __tutti_any_get_num_groups(3);"),
      std::string::npos);
  // The sub-range variant's own functions answer for every dimension.
  EXPECT_NE(output.rewritten.find("o[__tutti_get_global_size(d, __tutti_nd) + "
                                  "__tutti_any_get_local_size(d) + get_local_size(1u + 1u)] = "
                                  "__tutti_get_num_groups(3, __tutti_nd);"),
            std::string::npos);
  compiled(output.preprocessed, "-Werror");
}

TEST(Rewriter, OnlyKernelsThatNeedItGetTheArgument) {
  const CompileOutput output = compiled(
      "kernel void a(global int* o) { o[get_group_id(0)] = 1; }\n"
      "kernel void b(global int* o) { o[get_global_id(0)] = 1; }\n");
  EXPECT_TRUE(kernel_of(output, "a").needs_rewrite);
  EXPECT_FALSE(kernel_of(output, "b").needs_rewrite);
  EXPECT_EQ(rewritten("kernel void a(global int* o) { o[get_group_id(0)] = 1; }\n"
                      "kernel void b(global int* o) { o[get_global_id(0)] = 1; }"),
            "kernel void a(global int* o, ulong16 __tutti_nd) "
            "{ o[__tutti_get_group_id(0, __tutti_nd)] = 1; }\n"
            "kernel void b(global int* o) { o[get_global_id(0)] = 1; }");
}

TEST(Rewriter, FollowsHelpersDeclarationsAndOverloads) {
  EXPECT_EQ(rewritten("size_t late(int i);\n"
                      "__attribute__((overloadable)) size_t f(int i) { return late(i); }\n"
                      "__attribute__((overloadable)) size_t f(float x) { return x; }\n"
                      "kernel void k(global int* o) { o[f(1)] = f(2.0f); }\n"
                      "size_t late(int i) { return get_num_groups(i); }"),
            "size_t late(int i, ulong16 __tutti_nd);\n"
            "__attribute__((overloadable)) size_t f(int i, ulong16 __tutti_nd) "
            "{ return late(i, __tutti_nd); }\n"
            "__attribute__((overloadable)) size_t f(float x) { return x; }\n"
            "kernel void k(global int* o, ulong16 __tutti_nd) "
            "{ o[f(1, __tutti_nd)] = f(2.0f); }\n"
            "size_t late(int i, ulong16 __tutti_nd) "
            "{ return __tutti_get_num_groups(i, __tutti_nd); }");
}

TEST(Rewriter, EmptyParameterLists) {
  EXPECT_EQ(rewritten("size_t a(void) { return get_global_size(0); }\n"
                      "size_t b() { return a(); }\n"
                      "kernel void k( void ) { size_t s = b( ); }"),
            "size_t a(ulong16 __tutti_nd) { return __tutti_get_global_size(0, __tutti_nd); }\n"
            "size_t b(ulong16 __tutti_nd) { return a(__tutti_nd); }\n"
            "kernel void k(ulong16 __tutti_nd) { size_t s = b( __tutti_nd); }");
}

TEST(Rewriter, NestedCallsAndMacros) {
  EXPECT_EQ(rewritten("#define GROUP(d) get_group_id(d)\n"
                      "kernel void k(global int* o) {\n"
                      "  o[GROUP((uint)GROUP(get_global_offset(1)))] = as_long(get_group_id(0));\n"
                      "}",
                      "-w"),
            "\nkernel void k(global int* o, ulong16 __tutti_nd) {\n"
            "  o[__tutti_get_group_id((uint)__tutti_get_group_id("
            "__tutti_get_global_offset(1, __tutti_nd), __tutti_nd), __tutti_nd)] "
            "= as_long(__tutti_get_group_id(0, __tutti_nd));\n}");
}

TEST(Rewriter, KernelsCalledByKernels) {
  EXPECT_EQ(rewritten("kernel void a(global int* o) { o[get_group_id(0)] = 1; }\n"
                      "kernel void b(global int* o) { a(o + 1); }"),
            "kernel void a(global int* o, ulong16 __tutti_nd) "
            "{ o[__tutti_get_group_id(0, __tutti_nd)] = 1; }\n"
            "kernel void b(global int* o, ulong16 __tutti_nd) { a(o + 1, __tutti_nd); }");
}

TEST(Rewriter, LocalVariablesMayShadowTheBuiltIns) {
  EXPECT_EQ(rewritten("kernel void k(global int* o) { size_t get_num_groups = get_group_id(0); "
                      "o[get_num_groups] = 1; }"),
            "kernel void k(global int* o, ulong16 __tutti_nd) { size_t get_num_groups = "
            "__tutti_get_group_id(0, __tutti_nd); o[get_num_groups] = 1; }");
}

TEST(Rewriter, LinearIdsOfVersion2) {
  const CompileOutput output = compiled(
      "kernel void k(global int* o) { o[get_global_linear_id()] = get_enqueued_local_size(0); }",
      "-cl-std=CL2.0");
  EXPECT_NE(output.rewritten.find("o[__tutti_get_global_linear_id(__tutti_nd)] = "
                                  "get_enqueued_local_size(0);"),
            std::string::npos)
      << output.rewritten;
  EXPECT_EQ(describe(kernel_of(output)),
            (std::vector<std::string>{
                "store o[((((gid2 - goff2)*gsize1*gsize0) + ((gid1 - goff1)*gsize0) + "
                "(gid0 - goff0))*4)] 4 exact"}));
}

TEST(Rewriter, OldVersionsHaveNoStaticFunctions) {
  const CompileOutput old =
      compiled("kernel void k(global int* o) { o[get_group_id(0)] = 1; }", "-cl-std=CL1.0");
  EXPECT_EQ(old.rewritten.find("static"), std::string::npos);
  EXPECT_NE(old.rewritten, "");
}

TEST(Rewriter, KeepsTheLineMarks) {
  const CompileOutput output =
      compiled(std::string(50, '\n') + "kernel void k(global int* o) { o[get_group_id(0)] = 1; }");
  const CompileOutput again = compiled(output.rewritten);
  EXPECT_EQ(kernel_of(again).accesses.at(0).line, 51u);
}

TEST(Rewriter, ReservedNamesKeepTheKernelWhole) {
  const CompileOutput output = compiled(
      "int __tutti_x(int i) { return i; }\n"
      "kernel void k(global int* o) { o[get_group_id(0)] = __tutti_x(1); }");
  EXPECT_EQ(output.rewritten, "");
  EXPECT_TRUE(kernel_of(output).needs_rewrite);
  EXPECT_NE(kernel_of(output).whole_reason, "");
}

}  // namespace
}  // namespace tutti::kernel_compiler
