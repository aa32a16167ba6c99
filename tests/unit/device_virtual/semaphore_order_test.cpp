// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/semaphore_order.h"

#include <gtest/gtest.h>

namespace tutti::device_virtual {
namespace {

/// Commands are numbers; 0: none.
using Order = SemaphoreOrder<int>;

TEST(SemaphoreOrder, WaitsTakeSignalsInTurn) {
  Order order(false);
  EXPECT_EQ(order.before_signal(), 0);
  order.note_signal(1);
  EXPECT_EQ(order.before_wait(), 1);
  order.note_wait(2);
  EXPECT_EQ(order.before_signal(), 2);
  order.note_signal(3);
  EXPECT_EQ(order.before_wait(), 3);
}

TEST(SemaphoreOrder, AWaitMayComeBeforeItsSignal) {
  Order order(false);
  EXPECT_EQ(order.before_wait(), 0);
  order.note_wait(1);
  EXPECT_EQ(order.before_signal(), 0);  // which would never end
  order.note_signal(2);
  EXPECT_EQ(order.before_signal(), 1);
  order.note_signal(3);
  EXPECT_EQ(order.before_wait(), 3);
}

TEST(SemaphoreOrder, FromOutsideSignalsComeAtAnyTime) {
  Order order(true);
  EXPECT_EQ(order.before_wait(), 0);
  order.note_wait(1);
  EXPECT_EQ(order.before_signal(), 1);
  order.note_wait(2);
  EXPECT_EQ(order.before_wait(), 0);
}

TEST(SemaphoreOrder, OutsideMayTakeASignal) {
  Order order(false);
  order.note_signal(1);
  EXPECT_EQ(order.last_signal(), 1);
  order.note_taken();
  EXPECT_EQ(order.before_wait(), 0);
  EXPECT_EQ(order.before_signal(), 0);
}

}  // namespace
}  // namespace tutti::device_virtual
