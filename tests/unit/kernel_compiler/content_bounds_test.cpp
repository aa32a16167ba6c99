// SPDX-License-Identifier: Apache-2.0
// Loads that the content of other arguments bounds.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

/// Of the loads of argument `name`: what bounds them, or "none"; one after the other.
std::vector<std::string> bounds_of(const std::string& source, const std::string& name) {
  std::vector<std::string> result;
  for (const std::string& line : describe(source)) {
    if (line.rfind("load " + name + "[", 0) != 0) continue;
    const size_t from = line.find(" from #");
    result.push_back(from == std::string::npos ? "none" : line.substr(from + 1));
  }
  return result;
}

std::string rows(const std::string& type, const std::string& body) {
  return "kernel void k(global const " + type +
         "* restrict row, global const int* restrict column,\n" +
         "  global const float* restrict value, global float* restrict y, int n) {\n" +
         "  const int i = get_global_id(0);\n" + body + "}\n";
}

using Bounds = std::vector<std::string>;

TEST(ContentBounds, RowsOfASparseMatrix) {
  const std::pair<const char*, const char*> types[] = {
      {"int", "i32"}, {"uint", "u32"}, {"long", "i64"}, {"ulong", "u64"}};
  for (const auto& [type, kind] : types) {
    const std::string source = rows(type, std::string("float sum = 0;\n for (") + type +
                                              R"( k = row[i]; k < row[i + 1]; ++k)
        sum += value[k] * column[k];
      y[i] = sum;)");
    const Bounds expected{std::string("from #0 to #1 ") + kind + " *4 + 0"};
    EXPECT_EQ(bounds_of(source, "value"), expected) << type;
    EXPECT_EQ(bounds_of(source, "column"), expected) << type;
    EXPECT_EQ(bounds_of(source, "row"), (Bounds{"none", "none"})) << type;
  }
}

TEST(ContentBounds, BesideWhereTheyCount) {
  EXPECT_EQ(bounds_of(rows("int", R"(
      const int last = row[i + 1];
      int k = row[i];
      float sum = 0;
      while (k < last) { sum += value[k + 3] - value[k - 1]; ++k; }
      y[i] = sum;)"),
                      "value"),
            (Bounds{"from #1 to #0 i32 *4 + 12", "from #1 to #0 i32 *4 + -4"}));
}

TEST(ContentBounds, WhatIsReadThroughThemIsAnywhere) {
  EXPECT_EQ(bounds_of(rows("int", R"(
      float sum = 0;
      for (int k = row[i]; k < row[i + 1]; ++k) sum += value[column[k]];
      y[i] = sum;)"),
                      "value"),
            Bounds{"none"});
}

TEST(ContentBounds, LoopsThatMayGoOnFurther) {
  const char* bodies[] = {
      // One more than the number, which may wrap around.
      "for (int k = row[i]; k <= row[i + 1]; ++k) sum += value[k];",
      // The counter may leap over the end of its type.
      "for (int k = row[i]; k < row[i + 1]; k += 3) sum += value[k];",
      // Goes on until they are equal, which may be never.
      "for (int k = row[i]; k != row[i + 1]; ++k) sum += value[k];",
      // Asked after the first time only.
      "int k = row[i]; do sum += value[k]; while (++k < row[i + 1]);",
      // Downwards.
      "for (int k = row[i + 1] - 1; k >= row[i]; --k) sum += value[k];",
      // The end is another one each time.
      "for (int k = row[i]; k < row[k]; ++k) sum += value[k];",
      // A number that is computed.
      "for (int k = row[i]; k < row[i + 1] * n; ++k) sum += value[k];",
      // As an unsigned number it is less.
      "for (int k = row[i]; (uint)k < (uint)row[i + 1]; ++k) sum += value[k];",
  };
  for (const char* body : bodies) {
    const auto found =
        bounds_of(rows("int", std::string("float sum = 0;\n") + body + "\ny[i] = sum;"), "value");
    EXPECT_EQ(found, Bounds{"none"}) << body;
  }
}

// The same load in the summary stands for both loops.
TEST(ContentBounds, TwoLoopsWithOtherBounds) {
  const auto found = bounds_of(rows("long", R"(
      float sum = 0;
      for (long k = row[i]; k < row[i + 1]; ++k) sum += value[k];
      for (long k = row[i + 5]; k < row[i + 9]; ++k) sum -= value[k];
      y[i] = sum;)"),
                               "value");
  ASSERT_FALSE(found.empty());
  if (found.size() == 1) {
    EXPECT_EQ(found.front(), "none");
  } else {
    EXPECT_NE(found[0], found[1]);
  }
}

TEST(ContentBounds, TheyOutliveTheirWay) {
  const auto output = compiled(rows("int", R"(
      float sum = 0;
      for (int k = row[i]; k < row[i + 1]; ++k) sum += value[k];
      y[i] = sum;)"));
  const auto& kernel = kernel_of(output);
  ASSERT_EQ(kernel.accesses.size(), 4u);
  EXPECT_EQ(kernel.accesses[2].content,
            (scheduler::ContentBounds{
                .first = 0, .end = 1, .width = 32, .is_signed = true, .scale = 4, .added = 0}));
}

}  // namespace
}  // namespace tutti::kernel_compiler
