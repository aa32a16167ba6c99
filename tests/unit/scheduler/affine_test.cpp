// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/affine.h"

#include <gtest/gtest.h>

namespace tutti::scheduler::affine {
namespace {

TEST(Affine, MultiplicationSaturatesOnTheSoundSide) {
  EXPECT_TRUE(multiply(6, -7) == -42);
  EXPECT_TRUE(multiply(INT64_MIN, INT64_MIN) == kInfinity);
  EXPECT_TRUE(multiply(kInfinity, 0) == 0);
  EXPECT_TRUE(multiply(-kInfinity, 3) == -kInfinity);
  EXPECT_TRUE(multiply(Wide{1} << 64, 1 << 20) == Wide{1} << 84);
  EXPECT_TRUE(multiply(-(Wide{1} << 90), Wide{1} << 60) == -kInfinity);
}

TEST(Affine, BoundsStayUnboundedUnderAddition) {
  EXPECT_TRUE(add_bound(-kInfinity, kInfinity, -1) == -kInfinity);
  EXPECT_TRUE(add_bound(-kInfinity, kInfinity, +1) == kInfinity);
  EXPECT_TRUE(add_bound(40, 2, +1) == 42);
}

TEST(Affine, DivisionRoundsDownAndUp) {
  EXPECT_TRUE(floor_divide(-7, 4) == -2);
  EXPECT_TRUE(floor_divide(7, 4) == 1);
  EXPECT_TRUE(ceil_divide(-7, 4) == -1);
  EXPECT_TRUE(ceil_divide(7, 4) == 2);
  EXPECT_TRUE(floor_divide(-(Wide{1} << 80) - 1, 2) == -(Wide{1} << 79) - 1);
  EXPECT_TRUE(floor_divide(kInfinity, 4) == kInfinity);
}

TEST(Affine, ProductsOfIntervals) {
  EXPECT_TRUE((product({-2, 3}, {-5, 4}) == Interval{-15, 12}));
  EXPECT_TRUE((scale(Interval{-2, 3}, -2) == Interval{-6, 4}));
}

TEST(Affine, FormsCombineAndCancel) {
  Form x = Form::combine(Form::of_symbol(3, 4), 1, Form::of_symbol(1, 2), 1).plus(5);
  EXPECT_EQ(x.factor(3), 4);
  EXPECT_EQ(x.size(), 2u);
  EXPECT_EQ(Form::combine(x, 1, x, -1), Form(0));
  EXPECT_EQ(x.times(3).factor(1), 6);
  EXPECT_EQ(x.without(3).size(), 1u);
  EXPECT_EQ(x.plus(3).power_of_two_divisor(), 2);
  EXPECT_EQ(x.times(8).power_of_two_divisor(), 8);
}

TEST(Affine, FormsThatDoNotFitAreUnknown) {
  EXPECT_TRUE(Form(INT64_MAX).plus(1).unknown());
  EXPECT_TRUE(Form::of_symbol(1, INT64_MAX).times(2).unknown());
  EXPECT_FALSE(Form::make_unknown() == Form::make_unknown());
  Form full(0);
  for (SymbolId i = 0; i < Form::kMaxTerms; ++i) ASSERT_TRUE(full.append(i, 1));
  EXPECT_FALSE(full.append(60, 1));
  EXPECT_TRUE(Form::combine(full, 1, Form::of_symbol(60), 1).unknown());
}

TEST(Affine, StepsBeyondReasonMakeBandsUnknown) {
  const Band band{Wide{1} << 61, {0, 0}};
  EXPECT_TRUE(sum(band, sum(band, band)).step == 0);
  EXPECT_FALSE(sum(band, sum(band, band)).rest.bounded());
  EXPECT_FALSE(scale(band, 8).rest.bounded());
}

}  // namespace
}  // namespace tutti::scheduler::affine
