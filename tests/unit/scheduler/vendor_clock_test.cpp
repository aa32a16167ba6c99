// SPDX-License-Identifier: Apache-2.0
#include "scheduler/log/vendor_clock.h"

#include <gtest/gtest.h>

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

TEST(VendorClock, WorksForClocksAheadOfOurs) {
  VendorClock clock;
  EXPECT_EQ(clock.offset(9000, 1000, 1010), -8000);
}

}  // namespace
}  // namespace tutti::scheduler
