// SPDX-License-Identifier: Apache-2.0
// Whose energy it was: readings and runs made by hand.
#include "scheduler/model/energy_account.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

const std::vector<SensorInfo> kOne = {{"a", {0}}};
const std::vector<SensorInfo> kTwo = {{"a", {0}}, {"b", {1}}};
const std::vector<SensorInfo> kShared = {{"socket", {0, 1}}};

uint64_t at(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

TEST(EnergyAccount, EnergyGoesToWhatRanMeanwhileAndTheRestIsIdle) {
  EnergyAccount account(kTwo);
  for (size_t i = 0; i < 4; ++i) {
    account.read(0, i * kSecond, (i + 1) * kSecond, i == 1 || i == 2 ? 100 : 20);
    account.read(1, i * kSecond, (i + 1) * kSecond, 5);
  }
  account.ran("k", 0, at(1), at(3));
  account.launched("k", at(1), at(3));
  const EnergyTotals totals = account.totals();
  EXPECT_DOUBLE_EQ(totals.seconds, 4);
  EXPECT_DOUBLE_EQ(totals.joules, 260);
  EXPECT_DOUBLE_EQ(totals.delay_product(), 1040);
  EXPECT_DOUBLE_EQ(totals.sensors[0].joules, 240);
  EXPECT_DOUBLE_EQ(totals.sensors[0].busy_joules, 200);
  EXPECT_DOUBLE_EQ(totals.sensors[1].busy_joules, 0);
  EXPECT_DOUBLE_EQ(totals.devices.at(0).joules, 200);
  EXPECT_DOUBLE_EQ(totals.devices.at(0).busy_seconds, 2);
  EXPECT_DOUBLE_EQ(totals.devices.at(1).joules, 0);
  EXPECT_DOUBLE_EQ(totals.kernels.at("k").joules, 200);
  EXPECT_DOUBLE_EQ(totals.kernels.at("k").delay_product(), 400);
}

TEST(EnergyAccount, ARunTakesItsPartOfWhatLiesBetweenTwoReadings) {
  EnergyAccount account(kOne);
  account.read(0, 0, kSecond, 40);
  account.read(0, kSecond, 2 * kSecond, 80);
  account.ran("k", 0, at(0.75), at(1.5));
  EXPECT_DOUBLE_EQ(account.totals().kernels.at("k").joules, 10 + 40);
}

TEST(EnergyAccount, RunsMayBeToldBeforeTheReadings) {
  EnergyAccount account(kOne);
  account.ran("k", 0, at(0.5), at(2.5));
  account.read(0, 0, kSecond, 40);
  EXPECT_DOUBLE_EQ(account.totals().kernels.at("k").joules, 20);
  account.read(0, kSecond, 2 * kSecond, 100);
  account.read(0, 2 * kSecond, 3 * kSecond, 10);
  account.read(0, 3 * kSecond, 4 * kSecond, 10);
  EXPECT_DOUBLE_EQ(account.totals().kernels.at("k").joules, 20 + 100 + 5);
}

TEST(EnergyAccount, DevicesOfOneSensorShareByBusyTime) {
  EnergyAccount account(kShared);
  account.read(0, 0, kSecond, 90);
  account.ran("k", 0, at(0), at(1));
  account.ran("l", 1, at(0), at(0.5));
  const EnergyTotals totals = account.totals();
  EXPECT_DOUBLE_EQ(totals.devices.at(0).joules, 60);
  EXPECT_DOUBLE_EQ(totals.devices.at(1).joules, 30);
  EXPECT_DOUBLE_EQ(totals.kernels.at("k").device.at(0), 60);
  EXPECT_DOUBLE_EQ(totals.kernels.at("l").device.at(1), 30);
  EXPECT_DOUBLE_EQ(totals.sensors[0].busy_joules, 90);
}

TEST(EnergyAccount, ADeviceWithoutASensorCountsForItsTimeAlone) {
  EnergyAccount account(kOne);
  account.read(0, 0, kSecond, 10);
  account.ran("k", 5, at(0), at(1));
  const EnergyTotals totals = account.totals();
  EXPECT_DOUBLE_EQ(totals.devices.at(5).busy_seconds, 1);
  EXPECT_DOUBLE_EQ(totals.devices.at(5).joules, 0);
  EXPECT_DOUBLE_EQ(totals.sensors[0].busy_joules, 0);
}

TEST(EnergyAccount, ALongRunLosesNothingThoughOldReadingsAreThinnedOut) {
  EnergyAccount account(kOne);
  constexpr size_t kReadings = 20'000;
  const uint64_t step = kSecond / 20;
  double busy = 0;
  for (size_t i = 0; i < kReadings; ++i) {
    account.read(0, i * step, (i + 1) * step, 2);
    if (i % 10 < 5) continue;
    account.ran(i % 2 == 0 ? "even" : "odd", 0, i * step, (i + 1) * step);
    busy += 2;
  }
  account.ran("all", 0, 0, kReadings * step);  // the whole time, and told at the end
  const EnergyTotals totals = account.totals();
  EXPECT_NEAR(totals.joules, 2.0 * kReadings, 1e-6 * totals.joules);
  EXPECT_NEAR(totals.sensors[0].busy_joules, totals.joules, 1e-6 * totals.joules);
  const double others = totals.kernels.at("even").joules + totals.kernels.at("odd").joules;
  EXPECT_NEAR(totals.kernels.at("all").joules + others, totals.joules, 1e-6 * totals.joules);
  // Half of the time shared by two.
  EXPECT_NEAR(others, busy / 2, 0.2 * busy);
}

TEST(EnergyAccount, LearnsIdleAndBusyPower) {
  // 10 W idle; 70 W more for device 0, 30 W for device 1.
  EnergyAccount account(kShared);
  for (size_t i = 0; i < 8; ++i) {
    const double watts = i < 2 ? 10 : i < 4 ? 80 : i < 6 ? 40 : 110;
    account.read(0, i * kSecond, (i + 1) * kSecond, watts);
  }
  account.ran("k", 0, at(2), at(4));
  account.ran("k", 1, at(4), at(6));
  const PowerSums first = account.power(0), second = account.power(1);
  EXPECT_DOUBLE_EQ(*first.idle_watts(), (10 * 2 + 110 * 2) / 4.0);  // who ran at last is not told
  account.ran("k", 0, at(6), at(8));
  account.ran("k", 1, at(6), at(8));
  EXPECT_DOUBLE_EQ(*account.power(0).idle_watts(), 10);
  EXPECT_DOUBLE_EQ(*account.power(1).idle_watts(), 10);
  // Alone: 70 and 30; together 50 each.
  EXPECT_DOUBLE_EQ(*account.power(0).extra_watts(), 60);
  EXPECT_DOUBLE_EQ(*account.power(1).extra_watts(), 40);
  EXPECT_DOUBLE_EQ(*second.idle_watts(), *first.idle_watts());
}

TEST(EnergyAccount, NobodyIsIdleWhileAKernelMayRun) {
  EnergyAccount account(kOne);
  account.read(0, 0, kSecond, 10);
  account.begun(at(1.5));
  account.read(0, kSecond, 2 * kSecond, 50);
  account.read(0, 2 * kSecond, 3 * kSecond, 100);
  EXPECT_DOUBLE_EQ(*account.power(0).idle_watts(), 10);
  account.ran("k", 0, at(1.5), at(3));
  account.ended(at(1.5));
  account.read(0, 3 * kSecond, 4 * kSecond, 20);
  EXPECT_DOUBLE_EQ(*account.power(0).idle_watts(), 15);
}

TEST(PowerSums, TellNothingBeforeEnoughWasSeen) {
  PowerSums sums{.idle_joules = 1, .idle_seconds = 0.05};
  EXPECT_FALSE(sums.idle_watts());
  sums = {10, 1, 4, 0.05, 0.05};
  EXPECT_DOUBLE_EQ(*sums.idle_watts(), 10);
  EXPECT_FALSE(sums.extra_watts());
}

TEST(PowerSums, OldOnesCountForAMinute) {
  const PowerSums old = PowerSums{10'000, 1000, 300'000, 1000, 1000}.aged();
  EXPECT_DOUBLE_EQ(old.idle_seconds, 60);
  EXPECT_DOUBLE_EQ(*old.idle_watts(), 10);
  EXPECT_DOUBLE_EQ(old.busy_seconds, 60);
  EXPECT_DOUBLE_EQ(*old.extra_watts(), 290);
}

}  // namespace
}  // namespace tutti::scheduler
