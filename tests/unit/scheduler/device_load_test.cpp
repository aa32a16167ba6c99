// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/device_load.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

TEST(DeviceLoad, WaitsUntilWhatWasGivenEnds) {
  DeviceLoad load;
  EXPECT_EQ(load.wait(1, 100), 0);
  load.add({.devices = 0b10, .end_ns = 1'000'000'000});
  EXPECT_DOUBLE_EQ(load.wait(1, 0), 1);
  EXPECT_DOUBLE_EQ(load.wait(1, 750'000'000), 0.25);
  EXPECT_EQ(load.wait(1, 2'000'000'000), 0);
  EXPECT_EQ(load.wait(0, 0), 0);
  EXPECT_EQ(load.begin(1, 5), 1'000'000'000u);
  EXPECT_EQ(load.begin(0, 5), 5u);
}

TEST(DeviceLoad, AnEarlierEndMovesAllThatFollows) {
  DeviceLoad load;
  const Expectation first{.devices = 0b11, .end_ns = 1000};
  load.add(first);
  load.add({.devices = 0b01, .end_ns = 3000});
  load.add({.devices = 0b10, .end_ns = 500});  // nothing ends earlier for that
  load.ended(first, 400);
  EXPECT_EQ(load.begin(0, 0), 2400u);
  EXPECT_EQ(load.begin(1, 0), 400u);
}

TEST(DeviceLoad, ALateEndChangesNothing) {
  DeviceLoad load;
  const Expectation first{.devices = 0b1, .end_ns = 1000};
  load.add(first);
  load.ended(first, 1500);
  EXPECT_EQ(load.begin(0, 0), 1000u);
  load.ended({}, 10);
  EXPECT_EQ(load.begin(0, 0), 1000u);
}

}  // namespace
}  // namespace tutti::scheduler
