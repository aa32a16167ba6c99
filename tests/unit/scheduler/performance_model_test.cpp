// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/performance_model.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

constexpr uint64_t kKernel = 7;

TEST(PerformanceModel, SpeedIsTheMeanOfTheLastThreeSamples) {
  PerformanceModel model;
  EXPECT_FALSE(model.speed(kKernel, 0).has_value());
  model.add(kKernel, 0, 100, 1);
  model.add(kKernel, 0, 100, 0.5);
  EXPECT_DOUBLE_EQ(*model.speed(kKernel, 0), 150);
  model.add(kKernel, 0, 300, 1);
  model.add(kKernel, 0, 400, 1);
  EXPECT_DOUBLE_EQ(*model.speed(kKernel, 0), 300);
  EXPECT_FALSE(model.speed(kKernel, 1).has_value());
}

TEST(PerformanceModel, SamplesThatTellNothingAreLeftOut) {
  PerformanceModel model;
  model.add(kKernel, 0, 0, 1);
  model.add(kKernel, 0, 100, 0);
  EXPECT_FALSE(model.speed(kKernel, 0).has_value());
}

TEST(PerformanceModel, AsksForThreeSamplesAndThenForFew) {
  // 1000 launches in a row before the first of them has ended: 3, and one in 64 of the others.
  PerformanceModel model;
  int wanted = 0;
  for (int i = 0; i < 1000; ++i) wanted += model.wants_sample(kKernel, 0);
  EXPECT_EQ(wanted, 3 + 997 / 64);
  for (int i = 0; i < wanted; ++i) model.add(kKernel, 0, 1, 1);
  EXPECT_FALSE(model.wants_sample(kKernel, 0));
  EXPECT_TRUE(model.wants_sample(kKernel, 1));
}

TEST(PerformanceModel, ASampleThatNeverComesIsReplaced) {
  PerformanceModel model;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(model.wants_sample(kKernel, 0));
  int again = 0;
  for (int i = 0; i < 64; ++i) again += model.wants_sample(kKernel, 0);
  EXPECT_EQ(again, 1);
}

}  // namespace
}  // namespace tutti::scheduler
