// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/thinned_counter.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

using Point = ThinnedCounter::Point;

TEST(ThinnedCounter, TellsWhatCanBeSeen) {
  ThinnedCounter counter;
  EXPECT_EQ(counter.changed(1, 1000), Point(1, 1000));
  EXPECT_EQ(counter.changed(2, 1000), std::nullopt);
  EXPECT_EQ(counter.changed(3, 998), std::nullopt);  // 1000 / 256 is 3
  EXPECT_EQ(counter.changed(4, 997), Point(4, 997));
  EXPECT_EQ(counter.changed(5, 0), Point(5, 0));
  EXPECT_TRUE(counter.rest().empty());
}

TEST(ThinnedCounter, SmallStepsAddUp) {
  ThinnedCounter counter;
  ASSERT_TRUE(counter.changed(0, 25600));
  for (uint64_t i = 1; i < 100; ++i) ASSERT_EQ(counter.changed(i, 25600 - i), std::nullopt);
  EXPECT_EQ(counter.changed(100, 25500), Point(100, 25500));
}

TEST(ThinnedCounter, TheHighestAndTheLastAreTold) {
  ThinnedCounter counter;
  ASSERT_TRUE(counter.changed(0, 25600));
  EXPECT_EQ(counter.changed(1, 25650), std::nullopt);
  EXPECT_EQ(counter.changed(2, 25610), std::nullopt);
  EXPECT_EQ(counter.rest(), (std::vector<Point>{{1, 25650}, {2, 25610}}));
  EXPECT_TRUE(counter.rest().empty());
  // One that is both is told once.
  EXPECT_EQ(counter.changed(3, 25660), std::nullopt);
  EXPECT_EQ(counter.rest(), (std::vector<Point>{{3, 25660}}));
  // What went up and down again unseen, and was the highest.
  EXPECT_EQ(counter.changed(4, 25700), std::nullopt);
  EXPECT_EQ(counter.changed(5, 25660), std::nullopt);
  EXPECT_EQ(counter.rest(), (std::vector<Point>{{4, 25700}, {5, 25660}}));
}

TEST(ThinnedCounter, AMillionSmallBuffersMakeFewPoints) {
  ThinnedCounter counter;
  uint64_t told = 0, time = 0;
  constexpr uint64_t kBuffers = 1'000'000, kBytes = 64;
  for (uint64_t i = 1; i <= kBuffers; ++i) told += counter.changed(++time, i * kBytes) ? 1 : 0;
  EXPECT_GT(told, 256u);
  EXPECT_LT(told, 3000u);
  told = 0;
  for (uint64_t i = kBuffers; i-- > 0;) told += counter.changed(++time, i * kBytes) ? 1 : 0;
  EXPECT_LE(told, 257u);
  EXPECT_EQ(counter.rest().size(), 2u);
}

TEST(ThinnedCounter, NothingIsToldOfNothing) {
  ThinnedCounter counter;
  EXPECT_TRUE(counter.rest().empty());
  EXPECT_EQ(counter.changed(5, 0), std::nullopt);
  EXPECT_TRUE(counter.rest().empty());
}

}  // namespace
}  // namespace tutti::scheduler
