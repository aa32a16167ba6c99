// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/transfer_choice.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

using Way = TransferChoice::Way;
constexpr uint64_t kMiB = 1 << 20;

/// `count` transfers of so many bytes, at these rates; how many of them went the staged way.
int transfer(TransferChoice& choice, int count, uint64_t bytes, double direct, double staged) {
  int number = 0;
  for (int i = 0; i < count; ++i) {
    const auto [way, measured] = choice.next(bytes);
    number += way == Way::kStaged;
    if (measured) choice.ended(bytes, way, way == Way::kStaged ? staged : direct);
  }
  return number;
}

TEST(TransferChoice, TriesBothWaysAndTakesTheFasterOne) {
  TransferChoice faster, slower;
  EXPECT_EQ(transfer(faster, 4, 8 * kMiB, 8e9, 30e9), 2);
  EXPECT_EQ(transfer(faster, 50, 8 * kMiB, 8e9, 30e9), 50);
  EXPECT_EQ(faster.rate(8 * kMiB, Way::kDirect), 8e9);
  EXPECT_EQ(faster.rate(8 * kMiB, Way::kStaged), 30e9);
  EXPECT_EQ(transfer(slower, 4, 8 * kMiB, 8e9, 5e9), 2);
  EXPECT_EQ(transfer(slower, 50, 8 * kMiB, 8e9, 5e9), 0);
}

TEST(TransferChoice, TheDriversWayWhereTheGainIsSmall) {
  TransferChoice choice;
  transfer(choice, 4, 8 * kMiB, 8e9, 8.2e9);
  EXPECT_EQ(transfer(choice, 50, 8 * kMiB, 8e9, 8.2e9), 0);
}

TEST(TransferChoice, OneTransferThatSomethingHeldUpDecidesNothing) {
  TransferChoice choice;
  for (const double rate : {8e9, 0.1e9, 8e9, 30e9}) {
    const auto [way, measured] = choice.next(8 * kMiB);
    ASSERT_TRUE(measured);
    choice.ended(8 * kMiB, way, rate);
  }
  EXPECT_EQ(choice.next(8 * kMiB).way, Way::kStaged);
}

TEST(TransferChoice, SizesAreToldApart) {
  TransferChoice choice;
  transfer(choice, 4, 8 * kMiB, 8e9, 5e9);
  transfer(choice, 4, 64 * kMiB, 8e9, 30e9);
  EXPECT_EQ(choice.next(TransferChoice::kLeast).way, Way::kDirect);
  EXPECT_EQ(choice.next(16 * kMiB - 1).way, Way::kDirect);
  EXPECT_TRUE(choice.next(16 * kMiB).measured);
  EXPECT_EQ(choice.next(255 * kMiB).way, Way::kStaged);
  EXPECT_TRUE(choice.next(256 * kMiB).measured);
  transfer(choice, 4, uint64_t{1} << 60, 8e9, 30e9);
  EXPECT_FALSE(choice.next(256 * kMiB).measured);
}

TEST(TransferChoice, BothAreTriedAgainLessAndLessOften) {
  TransferChoice choice;
  transfer(choice, 4, 8 * kMiB, 8e9, 5e9);
  int before = 0, between = 0;
  while (!choice.next(8 * kMiB).measured) ++before;
  // Of the new trials one has begun; now the other way is faster.
  transfer(choice, 4, 8 * kMiB, 8e9, 30e9);
  for (auto next = choice.next(8 * kMiB); !next.measured; next = choice.next(8 * kMiB)) {
    EXPECT_EQ(next.way, Way::kStaged);
    ++between;
  }
  EXPECT_GE(before, 50);
  EXPECT_GE(between, 2 * before);
}

TEST(TransferChoice, WhatFailsIsTheSlowerWay) {
  TransferChoice never, later;
  while (never.next(8 * kMiB).measured) {
    if (never.next(8 * kMiB).way == Way::kStaged) {
      never.failed(8 * kMiB);
    } else {
      never.ended(8 * kMiB, Way::kDirect, 8e9);
    }
  }
  EXPECT_EQ(transfer(never, 20, 8 * kMiB, 8e9, 30e9), 0);
  transfer(later, 4, 8 * kMiB, 8e9, 30e9);
  EXPECT_EQ(later.next(8 * kMiB).way, Way::kStaged);
  later.failed(8 * kMiB);
  EXPECT_EQ(transfer(later, 20, 8 * kMiB, 8e9, 30e9), 0);
}

}  // namespace
}  // namespace tutti::scheduler
