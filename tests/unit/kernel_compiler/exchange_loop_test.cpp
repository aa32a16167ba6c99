// SPDX-License-Identifier: Apache-2.0
// Loops of compare-and-exchange that are one atomic, and those that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::Access;
using scheduler::AccessKind;

struct LoopCase {
  const char* name;
  const char* source;
  const char* op;  // of the only atomic; empty: the exchange is one of its own
};
void PrintTo(const LoopCase& item, std::ostream* stream) { *stream << item.name; }

class ExchangeLoop : public ::testing::TestWithParam<LoopCase> {};

TEST_P(ExchangeLoop, IsOneAtomic) {
  CompileRequest request = request_for(GetParam().source);
  const CompileOutput output = compiled(request);
  const scheduler::KernelSummary& kernel = kernel_of(output, "k");
  const auto is_atomic = [](const Access& access) { return access.kind == AccessKind::kAtomic; };
  const auto atomic = std::find_if(kernel.accesses.begin(), kernel.accesses.end(), is_atomic);
  ASSERT_NE(atomic, kernel.accesses.end());
  const std::string expected = GetParam().op;
  EXPECT_EQ(atomic->atomic_op, expected.empty() ? "cmpxchg" : expected);
  if (expected.empty()) return;
  EXPECT_EQ(kernel.whole_reason, "");
  EXPECT_FALSE(atomic->result_used);
  EXPECT_FALSE(atomic->is_volatile);
  // Nothing else is known to be done where it updates.
  EXPECT_EQ(std::count_if(kernel.accesses.begin(), kernel.accesses.end(),
                          [&](const Access& access) { return access.argument == 0; }),
            1);
}

const LoopCase kLoopCases[] = {
    {"AddWithAUnion",
     "void add(volatile global float* at, float value) {\n"
     "  union { uint u; float f; } next, expected, current;\n"
     "  current.f = *at;\n"
     "  do {\n"
     "    expected.f = current.f;\n"
     "    next.f = expected.f + value;\n"
     "    current.u = atomic_cmpxchg((volatile global uint*)at, expected.u, next.u);\n"
     "  } while (current.u != expected.u);\n"
     "}\n"
     "kernel void k(global float* sums, global const float* in) {\n"
     "  const int i = get_global_id(0); add(sums + (i & 15), in[i]); }",
     "fadd"},
    {"AddThatReadsAgain",
     "kernel void k(volatile global int* sums, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  do { old = sums[i & 15]; next = as_int(as_float(old) + v); }\n"
     "  while (atomic_cmpxchg(sums + (i & 15), old, next) != old); }",
     "fadd"},
    {"SubtractDoubles",
     "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
     "kernel void k(global long* sums, global const double* in) {\n"
     "  const int i = get_global_id(0); const double v = in[i]; long old, next;\n"
     "  do { old = sums[i & 15]; next = as_long(as_double(old) - v); }\n"
     "  while (atom_cmpxchg(sums + (i & 15), old, next) != old); }",
     "fsub"},
    {"LeastByFmin",
     "kernel void k(volatile global uint* least, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; uint old, next;\n"
     "  do { old = least[0]; next = as_uint(fmin(as_float(old), v)); }\n"
     "  while (atomic_cmpxchg(least, old, next) != old); }",
     "fmin"},
    {"LargestBySelection",
     "kernel void k(volatile global uint* most, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; uint old, next;\n"
     "  do { old = most[0]; next = as_uint(as_float(old) > v ? as_float(old) : v); }\n"
     "  while (atomic_cmpxchg(most, old, next) != old); }",
     "fmax"},
    {"IntegerOr",
     "kernel void k(global uint* bits, global const uint* in) {\n"
     "  const int i = get_global_id(0); const uint v = in[i]; uint old;\n"
     "  do { old = bits[0]; } while (atomic_cmpxchg(bits, old, old | v) != old); }",
     "or"},
    {"Product",
     "kernel void k(volatile global int* p, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  do { old = p[0]; next = as_int(as_float(old) * v); }\n"
     "  while (atomic_cmpxchg(p, old, next) != old); }",
     ""},
    {"OldValueIsUsed",
     "kernel void k(global int* p, global const float* in, global float* out) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  do { old = p[0]; next = as_int(as_float(old) + v); }\n"
     "  while (atomic_cmpxchg(p, old, next) != old);\n"
     "  out[i] = as_float(old); }",
     ""},
    {"GivesUp",
     "kernel void k(global int* p, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  int n = 0;\n"
     "  do { old = p[0]; next = as_int(as_float(old) + v); if (++n > 4) break; }\n"
     "  while (atomic_cmpxchg(p, old, next) != old); }",
     ""},
    {"ReadsAnotherPlace",
     "kernel void k(global int* p, global const float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  do { old = p[1]; next = as_int(as_float(old) + v); }\n"
     "  while (atomic_cmpxchg(p, old, next) != old); }",
     ""},
    {"AddsWhatOthersChange",
     "kernel void k(global int* p, volatile global const float* in) {\n"
     "  const int i = get_global_id(0); int old, next;\n"
     "  do { old = p[0]; next = as_int(as_float(old) + in[i]); }\n"
     "  while (atomic_cmpxchg(p, old, next) != old); }",
     ""},
    {"StoresBesides",
     "kernel void k(global int* p, global float* in) {\n"
     "  const int i = get_global_id(0); const float v = in[i]; int old, next;\n"
     "  do { old = p[0]; next = as_int(as_float(old) + v); in[i] = 3; }\n"
     "  while (atomic_cmpxchg(p, old, next) != old); }",
     ""},
    {"Lock",
     "kernel void k(global int* lock, global int* sum) {\n"
     "  while (atomic_cmpxchg(lock, 0, 1) != 0) {}\n"
     "  sum[0] += 1; atomic_xchg(lock, 0); }",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Cases, ExchangeLoop, ::testing::ValuesIn(kLoopCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tutti::kernel_compiler
