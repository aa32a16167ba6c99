// SPDX-License-Identifier: Apache-2.0
// Units compiled one by one and linked: their summaries, and the sub-range variant across them.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

UnitSource unit(const std::string& source, const std::string& options = {}) {
  CompileRequest request = request_for(source, options);
  request.unit = true;
  const CompileOutput output = compiled(request);
  EXPECT_TRUE(output.summary.kernels.empty());
  EXPECT_EQ(output.rewritten, "");
  return {output.original.empty() ? output.preprocessed : output.original, output.vendor_options};
}

CompileRequest request_of(std::vector<UnitSource> units) {
  CompileRequest request = request_for({});
  request.units = std::move(units);
  return request;
}

CompileOutput linked(std::vector<UnitSource> units) {
  return compiled(request_of(std::move(units)));
}

std::string failure(std::vector<UnitSource> units) {
  const auto output = compile(request_of(std::move(units)));
  EXPECT_TRUE(output && !output->ok);
  return output ? output->log : std::string();
}

/// Every unit's variant compiles; the texts after the prelude and line marks.
std::vector<std::string> rewritten(const CompileOutput& output) {
  std::vector<std::string> texts;
  for (const UnitOutput& made : output.units) {
    std::string text = made.rewritten;
    if (!text.empty()) {
      CompileRequest again = request_for(text, "-Werror");
      again.unit = true;
      compiled(again);
      const std::string mark = "#line 1 \"<source>\"\n";
      text.erase(0, text.find(mark) + mark.size());
      while (!text.empty() && text.back() == '\n') {
        text.pop_back();
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST(Linking, HelpersOfOtherUnitsAreSeenThrough) {
  const CompileOutput output = linked({
      unit("extern int place(int i);\n"
           "kernel void k(global int* o, int n) {\n"
           "  if ((int)get_global_id(0) < n) o[place(2)] = 1;\n"
           "}\n"),
      unit("int place(int i) { return i * (int)get_global_id(0); }\n"),
  });
  const auto& kernel = kernel_of(output);
  EXPECT_EQ(kernel.whole_reason, "");
  EXPECT_FALSE(kernel.needs_rewrite);
  EXPECT_EQ(describe(kernel).size(), 1u);
  EXPECT_EQ(describe(kernel).at(0).substr(0, 8), "store o[");
  EXPECT_EQ(rewritten(output), (std::vector<std::string>{"", ""}));
}

TEST(Linking, TheHiddenParameterCrossesUnits) {
  const CompileOutput output = linked({
      unit("int group(int i);\n"
           "static int same(int i) { return i; }\n"
           "kernel void a(global int* o) { o[get_global_id(0)] = group(same(1)); }\n"
           "kernel void b(global int* o) { o[get_global_id(0)] = same(1); }\n"),
      unit("static int same(int i) { return i + get_group_id(0); }\n"
           "int group(int i) { return same(i); }\n"),
      unit("kernel void c(global int* o) { o[get_global_id(0)] = 1; }\n"),
  });
  EXPECT_TRUE(kernel_of(output, "a").needs_rewrite);
  EXPECT_FALSE(kernel_of(output, "b").needs_rewrite);
  EXPECT_FALSE(kernel_of(output, "c").needs_rewrite);
  EXPECT_EQ(kernel_of(output, "a").whole_reason, "");
  EXPECT_EQ(rewritten(output),
            (std::vector<std::string>{
                "int group(int i, ulong16 __tutti_nd);\n"
                "static int same(int i) { return i; }\n"
                "kernel void a(global int* o, ulong16 __tutti_nd) "
                "{ o[get_global_id(0)] = group(same(1), __tutti_nd); }\n"
                "kernel void b(global int* o) { o[get_global_id(0)] = same(1); }",
                "static int same(int i, ulong16 __tutti_nd) "
                "{ return i + __tutti_get_group_id(0, __tutti_nd); }\n"
                "int group(int i, ulong16 __tutti_nd) { return same(i, __tutti_nd); }",
                ""}));
}

TEST(Linking, ChainsThroughSeveralUnits) {
  const CompileOutput output = linked({
      unit("kernel void k(global int* o);\n"
           "kernel void outer(global int* o) { k(o); }\n"),
      unit("int f(void);\nkernel void k(global int* o) { o[get_global_id(0)] = f(); }\n"),
      unit("__attribute__((overloadable)) int g(int i);\nint f(void) { return g(1); }\n"),
      unit("__attribute__((overloadable)) int g(float x) { return x; }\n"
           "__attribute__((overloadable)) int g(int i) { return get_num_groups(i); }\n"),
  });
  EXPECT_TRUE(kernel_of(output, "k").needs_rewrite);
  EXPECT_TRUE(kernel_of(output, "outer").needs_rewrite);
  EXPECT_EQ(kernel_of(output, "outer").whole_reason, "");
  const auto texts = rewritten(output);
  EXPECT_NE(texts.at(0).find("k(o, __tutti_nd)"), std::string::npos) << texts[0];
  EXPECT_NE(texts.at(3).find("g(float x)"), std::string::npos) << texts[3];
  EXPECT_NE(texts.at(3).find("g(int i, ulong16 __tutti_nd)"), std::string::npos) << texts[3];
}

TEST(Linking, SizesAreGuardedInEveryUnit) {
  const std::string source = "size_t f(uint d) { return get_local_size(d); }\n";
  const UnitSource helper = unit(source);
  EXPECT_NE(helper.source.find("return get_local_size(d)"), std::string::npos);
  const CompileOutput output = linked(
      {unit("size_t f(uint d);\nkernel void k(global int* o) { o[get_global_id(0)] = f(1); }\n"),
       helper});
  EXPECT_NE(output.units.at(1).preprocessed.find("__tutti_any_get_local_size(d)"),
            std::string::npos);
  EXPECT_EQ(output.units.at(0).preprocessed.find("__tutti_"), std::string::npos);
}

TEST(Linking, VariablesAndStaticFunctionsOfOneName) {
  const std::string source =
      "extern constant int table[4];\n"
      "static int at(int i) { return i * STRIDE; }\n"
      "kernel void NAME(global int* o) { o[at(get_global_id(0))] = table[get_local_id(0) & 3]; }\n";
  const CompileOutput output =
      linked({unit(source, "-DNAME=a -DSTRIDE=1"), unit(source, "-DNAME=b -DSTRIDE=2"),
              unit("constant int table[4] = {1, 2, 3, 4};\n")});
  EXPECT_EQ(kernel_of(output, "a").whole_reason, "");
  EXPECT_EQ(kernel_of(output, "b").whole_reason, "");
  EXPECT_NE(describe(kernel_of(output, "a")), describe(kernel_of(output, "b")));
}

TEST(Linking, SingleUnitIsLikeAProgram) {
  const std::string source = "kernel void k(global int* o) { o[get_group_id(0)] = 1; }\n";
  const CompileOutput output = linked({unit(source)});
  const CompileOutput program = compiled(source);
  EXPECT_EQ(output.summary, program.summary);
  EXPECT_EQ(output.units.at(0).rewritten, program.rewritten);
  EXPECT_EQ(output.units.at(0).preprocessed, program.preprocessed);
}

TEST(Linking, UnresolvedAndDoubledNamesAreErrors) {
  const UnitSource kernel = unit(
      "int f(int i);\nextern constant int t[2];\n"
      "kernel void k(global int* o) { o[0] = f(1) + t[get_global_id(0) & 1]; }\n");
  const UnitSource helper = unit("int f(int i) { return i; }\n");
  EXPECT_NE(failure({kernel}).find("undefined reference to 'f'"), std::string::npos);
  EXPECT_NE(failure({kernel, helper}).find("undefined reference to 't'"), std::string::npos);
  EXPECT_NE(failure({helper, helper}).find("f"), std::string::npos);
  CompileRequest library = request_of({kernel});
  library.library = true;
  EXPECT_TRUE(compiled(library).summary.kernels.empty());
  library.units.push_back(kernel);
  const auto doubled = compile(library);
  EXPECT_TRUE(doubled && !doubled->ok);
}

TEST(Linking, ABuiltinThatAUnitDefinesKeepsKernelsWhole) {
  const CompileOutput output = linked({
      unit("kernel void k(global float* o) { o[get_global_id(0)] = sin(o[get_global_id(0)]); }\n"),
      unit("float __attribute__((overloadable)) sin(float x) { return x; }\n"),
  });
  EXPECT_NE(kernel_of(output).whole_reason, "");
}

TEST(Linking, WithoutStaticFunctionsKernelsStayWhole) {
  const CompileOutput output =
      linked({unit("kernel void k(global int* o) { o[get_group_id(0)] = 1; }\n", "-cl-std=CL1.1")});
  EXPECT_TRUE(kernel_of(output).needs_rewrite);
  EXPECT_NE(kernel_of(output).whole_reason, "");
}

}  // namespace
}  // namespace tutti::kernel_compiler
