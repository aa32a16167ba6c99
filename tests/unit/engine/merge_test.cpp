// SPDX-License-Identifier: Apache-2.0
// Combining copies, and comparing results of a split run with those of a whole one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "scheduler/run/merge_atomic.h"
#include "scheduler/run/verification.h"

namespace tutti::scheduler {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
T expected(MergeOperator op, T a, T b) {
  using Signed = std::make_signed_t<T>;
  switch (op) {
    case MergeOperator::kSum:
      return static_cast<T>(a + b);
    case MergeOperator::kXor:
      return a ^ b;
    case MergeOperator::kAnd:
      return a & b;
    case MergeOperator::kOr:
      return a | b;
    case MergeOperator::kMin:
      return static_cast<T>(std::min(static_cast<Signed>(a), static_cast<Signed>(b)));
    case MergeOperator::kMax:
      return static_cast<T>(std::max(static_cast<Signed>(a), static_cast<Signed>(b)));
    case MergeOperator::kUMin:
      return std::min(a, b);
    case MergeOperator::kUMax:
      return std::max(a, b);
    case MergeOperator::kFSum:
    case MergeOperator::kFMin:
    case MergeOperator::kFMax:
      break;
  }
  return 0;
}

constexpr MergeOperator kOperators[] = {
    MergeOperator::kSum, MergeOperator::kXor, MergeOperator::kAnd,  MergeOperator::kOr,
    MergeOperator::kMin, MergeOperator::kMax, MergeOperator::kUMin, MergeOperator::kUMax};

template <typename T>
void check_operators() {
  std::mt19937_64 random(11);
  for (const MergeOperator op : kOperators) {
    std::vector<T> a(100), b(100);
    for (T& value : a) value = static_cast<T>(random());
    for (T& value : b) value = static_cast<T>(random());
    auto into = bytes_of(a);
    combine(op, sizeof(T), into, bytes_of(b));
    for (size_t i = 0; i < a.size(); ++i) {
      T seen;
      std::memcpy(&seen, into.data() + i * sizeof(T), sizeof(T));
      EXPECT_EQ(seen, expected(op, a[i], b[i])) << static_cast<int>(op);
    }
    // The neutral element changes nothing.
    const auto element = neutral_element(op, sizeof(T));
    std::vector<std::byte> neutral;
    for (size_t i = 0; i < a.size(); ++i) {
      neutral.insert(neutral.end(), element.begin(), element.begin() + sizeof(T));
    }
    into = bytes_of(a);
    combine(op, sizeof(T), into, neutral);
    EXPECT_EQ(into, bytes_of(a)) << static_cast<int>(op);
  }
}

/// Values that combine to `expected`; the neutral element leaves each with all its bits.
template <typename F>
void check_float(MergeOperator op, std::vector<F> a, std::vector<F> b, std::vector<F> expected) {
  auto into = bytes_of(a);
  combine(op, sizeof(F), into, bytes_of(b));
  EXPECT_EQ(into, bytes_of(expected)) << static_cast<int>(op);
  const auto element = neutral_element(op, sizeof(F));
  std::vector<std::byte> neutral;
  for (size_t i = 0; i < a.size(); ++i) {
    neutral.insert(neutral.end(), element.begin(), element.begin() + sizeof(F));
  }
  into = bytes_of(a);
  combine(op, sizeof(F), into, neutral);
  EXPECT_EQ(into, bytes_of(a)) << static_cast<int>(op);
}

template <typename F>
void check_floats() {
  constexpr F kNan = std::numeric_limits<F>::quiet_NaN();
  constexpr F kInf = std::numeric_limits<F>::infinity();
  check_float<F>(MergeOperator::kFSum, {1, -0.0, 0.5, kInf}, {2, 3, -4, 1}, {3, 3, -3.5, kInf});
  check_float<F>(MergeOperator::kFMin, {1, -2, kNan, kInf}, {2, -3, 4, 5}, {1, -3, 4, 5});
  check_float<F>(MergeOperator::kFMax, {1, -2, kNan, -kInf}, {2, -3, 4, 5}, {2, -2, 4, 5});
}

TEST(AtomicMerge, FloatingPointOperatorsAndTheirNeutralElements) {
  check_floats<float>();
  check_floats<double>();
}

TEST(AtomicMerge, OperatorsAndTheirNeutralElements) {
  check_operators<uint32_t>();
  check_operators<uint64_t>();
}

TEST(Verification, ElementTypes) {
  EXPECT_EQ(element_type("float*").kind, ElementKind::kFloat);
  EXPECT_EQ(element_type("float4*").bytes, 4u);
  EXPECT_EQ(element_type("double16*").kind, ElementKind::kDouble);
  EXPECT_EQ(element_type("half*").bytes, 2u);
  EXPECT_EQ(element_type("uint*").kind, ElementKind::kExact);
  EXPECT_EQ(element_type("ulong2*").bytes, 8u);
  EXPECT_EQ(element_type("struct particle*").kind, ElementKind::kExact);
  EXPECT_EQ(element_type("struct particle*").bytes, 1u);
}

TEST(Verification, FloatsByToleranceIntegersExactly) {
  const ElementType real = element_type("float*");
  const std::vector<float> split{1.0f, -2.0f, NAN, INFINITY, 1000.0f};
  std::vector<float> whole = split;
  EXPECT_FALSE(first_difference(real, bytes_of(split), bytes_of(whole), 0));
  whole[4] = 1000.05f;
  EXPECT_FALSE(first_difference(real, bytes_of(split), bytes_of(whole), 1e-4));
  EXPECT_EQ(first_difference(real, bytes_of(split), bytes_of(whole), 1e-5), 16u);
  whole[2] = 0;
  EXPECT_EQ(first_difference(real, bytes_of(split), bytes_of(whole), 1e-4), 8u);
  whole[1] = 2;
  EXPECT_EQ(first_difference(real, bytes_of(split), bytes_of(whole), 1e-4), 4u);
  whole = split;
  whole[3] = 3e38f;
  EXPECT_EQ(first_difference(real, bytes_of(split), bytes_of(whole), 1e-4), 12u);

  const std::vector<int> a{1, 2, 3}, b{1, 2, 4};
  EXPECT_EQ(first_difference(element_type("int*"), bytes_of(a), bytes_of(b), 1.0), 8u);
  // Halves: 1.0 and the next one above.
  const std::vector<uint16_t> c{0x3c00}, d{0x3c01};
  EXPECT_EQ(first_difference(element_type("half*"), bytes_of(c), bytes_of(d), 1e-4), 0u);
  EXPECT_FALSE(first_difference(element_type("half*"), bytes_of(c), bytes_of(d), 1e-2));
  EXPECT_EQ(element_text(element_type("half*"), bytes_of(c)), "1");
  EXPECT_EQ(element_text(element_type("int*"), bytes_of(std::vector<int>{258})), "0x102");
}

TEST(Verification, ReportCountsAndKeepsTheFirst) {
  VerificationReport report;
  EXPECT_EQ(report.text(), "");
  report.add("k", false, "");
  EXPECT_EQ(report.text(),
            "tutti verify: 1 split launches repeated whole, no difference\n"
            "  k: 1 split launches, 0 differ\n");
  report.add("k", true, "one");
  report.add("k", true, "two");
  report.add_unverified("other", "no memory");
  EXPECT_EQ(report.text(),
            "tutti verify: 3 split launches repeated whole, 2 differ; 1 not verified\n"
            "  k: 3 split launches, 2 differ; first: one\n"
            "  other: 1 split launches, 0 differ, 1 not verified; first: no memory\n");
}

}  // namespace
}  // namespace tutti::scheduler
