// SPDX-License-Identifier: Apache-2.0
// Lines in summaries are lines of the file that a person looks into.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::KernelSummary;

std::vector<uint32_t> lines_of(const KernelSummary& kernel) {
  std::vector<uint32_t> lines;
  for (const auto& access : kernel.accesses) lines.push_back(access.line);
  return lines;
}

TEST(SourceLine, IncludesAndMacrosAboveDoNotShiftLines) {
  CompileRequest request = request_for(
      "#include \"many.h\"\n"
      "#define STORE(p, v)     \\\n"
      "  do {                  \\\n"
      "    (p)[0] = (v);       \\\n"
      "  } while (0)\n"
      "#if 0\nnothing\n#endif\n"
      "kernel void k(global int* o) {\n"  // line 9
      "  STORE(o,\n"
      "        MANY);\n"
      "  o[get_global_id(0)] = 2;\n"
      "}\n");
  request.headers = {{"many.h", std::string(40, '\n') + "#define MANY 1\n"}};
  const CompileOutput output = compiled(request);
  EXPECT_EQ(kernel_of(output).file, "");
  // A macro's text stands where it is used.
  EXPECT_EQ(lines_of(kernel_of(output)), (std::vector<uint32_t>{10, 12}));
}

TEST(SourceLine, HelpersOfTheSameFile) {
  const CompileOutput output = compiled(
      "void helper(global int* o) {\n"
      "  o[0] = 1;\n"
      "}\n"
      "kernel void k(global int* o) {\n"
      "  helper(o + get_global_id(0));\n"
      "}\n");
  EXPECT_EQ(lines_of(kernel_of(output)), (std::vector<uint32_t>{2}));
}

TEST(SourceLine, HelpersOfAnotherFileCountWhereTheyAreCalled) {
  CompileRequest request = request_for(
      "#include \"helper.h\"\n"
      "kernel void k(global int* o) {\n"
      "  o[3] = 1;\n"
      "  outer(o + get_global_id(0));\n"
      "}\n"
      "kernel void p() {\n"
      "\n"
      "  shout();\n"
      "}\n");
  request.headers = {{"helper.h", std::string(20, '\n') +
                                      "void inner(global int* o) { o[0] = 1; }\n" +
                                      "void outer(global int* o) { inner(o); }\n" +
                                      "void shout() { printf(\"!\"); }\n"}};
  const CompileOutput output = compiled(request);
  EXPECT_EQ(lines_of(kernel_of(output, "k")), (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(kernel_of(output, "p").whole_line, 8u);
  EXPECT_EQ(kernel_of(output, "p").file, "");
}

TEST(SourceLine, KernelsOfAnotherFileAndOfLineDirectives) {
  CompileRequest request = request_for(
      "#include \"kernels.h\"\n"
      "#line 500 \"made.clt\"\n"
      "kernel void b(global int* o) {\n"
      "  o[0] = 1;\n"
      "}\n");
  request.headers = {{"kernels.h",
                      "// a comment\n"
                      "kernel void a(global int* o) {\n"
                      "  o[0] = 1;\n"
                      "}\n"}};
  const CompileOutput output = compiled(request);
  EXPECT_EQ(kernel_of(output, "a").file, "kernels.h");
  EXPECT_EQ(lines_of(kernel_of(output, "a")), (std::vector<uint32_t>{3}));
  EXPECT_EQ(kernel_of(output, "b").file, "made.clt");
  EXPECT_EQ(lines_of(kernel_of(output, "b")), (std::vector<uint32_t>{501}));
}

}  // namespace
}  // namespace tutti::kernel_compiler
