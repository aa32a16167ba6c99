// SPDX-License-Identifier: Apache-2.0
// The analysis of kernels with thousands of similar statements: its steps grow with their number,
// and what it says is as true as for a few.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

// In this process, whose time is measured; read when it first compiles.
[[maybe_unused]] const int kBuildsInside = setenv("TUTTI_BUILDS", "inside", 1);

struct Shape {
  const char* name;
  const char* separator;
  std::string (*part)(int number);
  const char* begin = "";
  const char* end = "";
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

// Those of which LLVM's own passes would be slow.
const Shape kCostly[] = {
    {"tests of one value", " else ",
     [](int n) { return fmt::format("if (i == {}) x = d[i + {}] + n;", n, n); }},
    {"stores", " else ", [](int n) { return fmt::format("if (i == {}) o[i] = d[i + {}];", n, n); }},
    {"tests of another value", " else ",
     [](int n) { return fmt::format("if (y == {}) x = y * {} + n;", n, n + 3); }},
    {"two values", " else ",
     [](int n) { return fmt::format("if (i == {}) {{ x = i * n; y = x + {}; }}", n, n); }},
    {"chosen indices", " else ",
     [](int n) { return fmt::format("if (n == {}) x = i + {};", n, 7 * n); }},
    {"chosen pointers", " else ",
     [](int n) { return fmt::format("if (n == {}) p = o + {};", n, 7 * n); }},
    {"tests of both", "\n",
     [](int n) { return fmt::format("if (i > {} && n < {}) x += {};", n, 3 * n, n); }},
    {"loops with bounds of the launch", "\n",
     [](int n) { return fmt::format("for (int q = 0; q < n; ++q) x += d[i + q * {}];", n); }},
    {"loops with constant bounds", "\n",
     [](int n) { return fmt::format("for (int q = 0; q < {}; ++q) o[i * 9 + q] = n;", n + 5); }},
    {"loops in loops", "\n",
     [](int n) {
       return fmt::format("for (int q = 0; q < n; ++q) for (int r = 0; r < q; ++r) x += d[r + {}];",
                          n);
     }},
    {"loops that go on", "\n",
     [](int n) { return fmt::format("for (; d[x] > {}; ++x) y += x;", n); }},
    {"cases of a switch", "\n",
     [](int n) { return fmt::format("case {}: y = {}; break;", n, 7 * n % 1001); },
     "switch (y) {\n", "\n}"},
};

std::string source_of(const Shape& shape, int count) {
  std::string source =
      "kernel void k(global int* o, global const int* d, int n) {\n"
      "  int i = get_global_id(0), x = n, y = d[i];\n"
      "  global int* p = o;\n";
  source += shape.begin;
  for (int n = 0; n < count; ++n) source += (n > 0 ? shape.separator : "") + shape.part(n);
  return source + shape.end + "\n  p[x] = y;\n}\n";
}

uint64_t steps_of(const Shape& shape, int count) {
  return compiled(source_of(shape, count)).analysis_steps;
}

/// Seconds that this process has computed; to the nanosecond, where getrusage counts ticks.
double computed_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// How much faster than the front end's the whole cost grows from some parts to four times as many.
/// Each cost is the least of some rounds, in which all are measured: of one, where the growth is
/// clearly below `most`; of more, where it seems to reach it, since other programs disturb.
double growth_of(const Shape& shape, double most) {
  constexpr int kRounds = 3, kMostRounds = 15;
  struct Cost {
    CompileRequest request;
    double least = 1e9;
  };
  std::vector<Cost> costs;
  for (const int count : {450, 1800}) {
    for (const bool unit : {true, false}) {  // a unit is parsed, and not analysed yet
      Cost cost{request_for(source_of(shape, count))};
      cost.request.unit = unit;
      costs.push_back(std::move(cost));
    }
  }
  double growth = most;
  const auto suffices = [&](int rounds) {
    return rounds > 0 && growth < (rounds < kRounds ? 0.8 * most : most);
  };
  for (int round = 0; round < kMostRounds && !suffices(round); ++round) {
    for (Cost& cost : costs) {
      const double before = computed_seconds();
      compiled(cost.request);
      cost.least = std::min(cost.least, computed_seconds() - before);
    }
    growth = costs[3].least / costs[2].least / (costs[1].least / costs[0].least);
  }
  return growth;
}

TEST(LongKernels, StepsGrowWithTheLength) {
  for (const Shape& shape : kShapes) {
    const uint64_t some = steps_of(shape, 200);
    const uint64_t twice = steps_of(shape, 400);
    EXPECT_GT(some, 200u) << shape.name;
    EXPECT_LT(static_cast<double>(twice), 2.5 * static_cast<double>(some)) << shape.name;
  }
}

// What LLVM's passes do cannot be counted, only compared: with what Clang's front end does, whose
// work grows a little faster than the text where scopes are nested, as in a chain of elses.
TEST(LongKernels, WorkOfAllPassesGrowsWithTheLength) {
  for (const Shape& shape : kCostly) {
    constexpr double kMost = 2.3;
    const double growth = growth_of(shape, kMost);
    RecordProperty(shape.name, std::to_string(growth));
    EXPECT_LT(growth, kMost) << shape.name;
  }
}

TEST(LongKernels, BoundsOfManyLoopsAreThoseOfOne) {
  const Shape loops = {"loops", "\n", [](int) {
                         return std::string("for (int q = 0; q < 8; ++q) o[i * 8 + q] = q;");
                       }};
  const auto output = compiled(source_of(loops, 300));
  const auto& kernel = kernel_of(output);
  EXPECT_EQ(kernel.whole_reason, "");
  for (const scheduler::Loop& loop : kernel.loops) {
    ASSERT_TRUE(loop.exact);
    ASSERT_TRUE(loop.last.has_value());
    const scheduler::Expr& last = kernel.exprs[*loop.last];  // a constant, widened
    ASSERT_EQ(last.kind, scheduler::ExprKind::kZExt);
    EXPECT_EQ(kernel.exprs[last.operands.at(0)].value, 7);
  }
}

TEST(LongKernels, WhatIsTooLongRunsWholeAndIsTold) {
  const char* reason = "more branches and variables than can be analysed";
  const Shape branches = {"branches", "\n", [](int n) {
                            return fmt::format("if (d[i + {}] > {}) o[i] = {};", n, n, n);
                          }};
  EXPECT_EQ(kernel_of(compiled(source_of(branches, 9000))).whole_reason, reason);
  EXPECT_EQ(kernel_of(compiled(source_of(branches, 900))).whole_reason, "");
  const Shape variables = {"variables", "\n", [](int n) {
                             return fmt::format("int v{} = d[i + {}]; x += v{};", n, n, n);
                           }};
  EXPECT_EQ(kernel_of(compiled(source_of(variables, 9000))).whole_reason, reason);
  // A function that is too long for its caller is not taken for one that does nothing.
  std::string helper = "void f(global int* o, int i) {\n";
  for (int n = 0; n < 9000; ++n) helper += fmt::format("  if (i == {}) o[{}] = i;\n", n, n);
  EXPECT_EQ(
      kernel_of(compiled(helper + "}\nkernel void k(global int* o) { f(o, 1); }\n")).whole_reason,
      "calls f, which is recursive or too large to analyse");
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
