// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/vendor_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tutti::scheduler {
namespace {

// A vendor's clock that is 1000 behind ours.
TEST(VendorClock, KeepsOneEstimateWhileItFits) {
  VendorClock clock;
  // Queued at 4000 of theirs (5000 of ours), between 4990 and 5100: at least 990 behind.
  EXPECT_EQ(clock.offset(4000, 4990, 5100), 990);
  // Enqueued faster: better known now.
  EXPECT_EQ(clock.offset(5000, 5998, 6100), 998);
  // Enqueued slowly again: the better estimate holds, so that the order of times is the vendor's.
  EXPECT_EQ(clock.offset(6000, 6900, 7100), 998);
}

TEST(VendorClock, FollowsAClockThatRunsSlow) {
  VendorClock clock;
  EXPECT_EQ(clock.offset(1000, 2000, 2010), 1000);
  EXPECT_EQ(clock.offset(10000, 10900, 10980), 980);  // no later than we asked
}

/// Launches one after the other for `seconds`, each asked for 15 µs after it was queued, on a clock
/// that gains `gain` of ours. Some are queued late by up to two microseconds. What is expected:
/// times in the vendor's order, and after a while within a microsecond of the truth.
void follow(double gain, double seconds, double step) {
  VendorClock clock;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> late(0.1e3, 2e3);
  double last = 0, worst = 0;
  for (double ours = 1e9; ours < 1e9 + seconds * 1e9; ours += step) {
    const double queued_at = ours + late(random);
    const double queued = 5e9 + queued_at * (1 + gain);
    const auto theirs = static_cast<uint64_t>(queued);
    const int64_t offset =
        clock.offset(theirs, static_cast<uint64_t>(ours), static_cast<uint64_t>(ours + 15e3));
    const double mapped = static_cast<double>(theirs) + static_cast<double>(offset);
    EXPECT_GE(mapped, last);
    last = mapped;
    if (ours > 1e9 + seconds * 0.2e9) worst = std::max(worst, std::abs(mapped - queued_at));
  }
  EXPECT_LT(worst, 1.5e3) << gain;
}

TEST(VendorClock, FollowsClocksThatGainOrLose) {
  for (const double gain : {0.0, 5e-6, -5e-6, 20e-6, -20e-6}) follow(gain, 5, 20e3);
  follow(5e-6, 20, 1e6);
}

TEST(VendorClock, AnswersForEarlierTimesAsBefore) {
  VendorClock clock;
  int64_t at_first = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    const uint64_t ours = 1'000'000'000 + i * 20'000;
    const int64_t offset = clock.offset(ours + ours / 100'000, ours, ours + 15'000);
    if (i == 3000) at_first = offset;
  }
  const uint64_t ours = 1'000'000'000 + 3000 * 20'000;
  EXPECT_NEAR(
      static_cast<double>(clock.offset(ours + ours / 100'000, ours - 9'000, ours + 900'000)),
      static_cast<double>(at_first), 50);
}

TEST(VendorClock, WorksForClocksAheadOfOurs) {
  VendorClock clock;
  EXPECT_EQ(clock.offset(9000, 1000, 1010), -8000);
}

}  // namespace
}  // namespace tutti::scheduler
