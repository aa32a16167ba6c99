// SPDX-License-Identifier: Apache-2.0
// The analysis of kernels with thousands of similar statements: its steps grow with their number,
// and what it says is as true as for a few.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

struct Shape {
  const char* name;
  const char* separator;
  std::string (*part)(int number);
};

const Shape kShapes[] = {
    {"elses", " else ", [](int n) { return fmt::format("if (i == {}) o[i] = {};", 7 * n, n); }},
    {"elses of data", " else ",
     [](int n) { return fmt::format("if (d[i] == {}) o[i + {}] = {};", 7 * n, n, n); }},
    {"elses of two", " else ",
     [](int n) { return fmt::format("if (i > {} && n < {}) o[i] = {};", n, 3 * n, n); }},
    {"ifs", "\n",
     [](int n) { return fmt::format("if (i < n - {}) o[i + n * {}] = {};", n, n, n); }},
    {"returns", "\n",
     [](int n) { return fmt::format("if (n == {}) return; o[i + {}] = 1;", n, n); }},
    {"stores", "\n", [](int n) { return fmt::format("o[i + {}] = d[i + {}];", n, 3 * n); }},
    {"atomics", "\n",
     [](int n) { return fmt::format("if (d[i] > {}) atomic_inc(&o[{}]);", n, n); }},
    {"cases", "\n",
     [](int n) { return fmt::format("switch (n) {{ case {}: o[i * {}] = 1; }}", n, n); }},
    {"loops", "\n",
     [](int n) { return fmt::format("for (int q = 0; q < n; ++q) o[i * n + q] += d[{}];", n); }},
};

uint64_t steps_of(const Shape& shape, int count) {
  std::string source =
      "kernel void k(global int* o, global const int* d, int n) {\n"
      "  int i = get_global_id(0);\n";
  for (int n = 0; n < count; ++n) source += (n > 0 ? shape.separator : "") + shape.part(n);
  return compiled(source + "\n}\n").analysis_steps;
}

TEST(LongKernels, StepsGrowWithTheLength) {
  for (const Shape& shape : kShapes) {
    const uint64_t some = steps_of(shape, 200);
    const uint64_t twice = steps_of(shape, 400);
    EXPECT_GT(some, 200u) << shape.name;
    EXPECT_LT(static_cast<double>(twice), 2.5 * static_cast<double>(some)) << shape.name;
  }
}

TEST(LongKernels, WhatIsBehindManyTestsIsGuardedByTheNearest) {
  std::string source = "kernel void k(global int* o, int n) {\n  int i = get_global_id(0);\n";
  for (int n = 0; n < 100; ++n) source += fmt::format("  if (n == {}) return;\n", 3 * n);
  const auto output = compiled(source + "  o[i] = 1;\n}\n");
  const auto& accesses = kernel_of(output).accesses;
  ASSERT_EQ(accesses.size(), 1u);
  // More tests than are kept: they are necessary, and do not suffice.
  EXPECT_FALSE(accesses[0].guards_exact);
}

TEST(LongKernels, FewTestsSuffice) {
  EXPECT_EQ(describe("kernel void k(global int* o, int n) {\n"
                     "  int i = get_global_id(0);\n"
                     "  if (n == 3) return;\n"
                     "  if (i < n) o[i] = 1;\n"
                     "}\n")
                .back()
                .substr(0, 5),
            "store");
  const auto output = compiled(
      "kernel void k(global int* o, global const int* d, int n) {\n"
      "  int i = get_global_id(0), s = 0;\n"
      "  if (d[i] > 3) s = d[i + 1]; else s = 4;\n"
      "  for (int q = 0; q < n; ++q) s += d[q];\n"
      "  o[i] = s;\n"
      "}\n");
  // Whatever the tests and the loop before it do, control comes to the store.
  EXPECT_TRUE(kernel_of(output).accesses.back().guards_exact);
  EXPECT_TRUE(kernel_of(output).accesses.back().guards.empty());
}

}  // namespace
}  // namespace tutti::kernel_compiler
