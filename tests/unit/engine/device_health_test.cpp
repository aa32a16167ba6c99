// SPDX-License-Identifier: Apache-2.0
// The health of devices, by a clock that stands still.
#include "scheduler/devices/device_health.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace tutti::testing {
namespace {
using namespace scheduler;

uint64_t time_ns = 0;
uint64_t clock_of_test() { return time_ns; }

TEST(DeviceHealth, OneThatIsAwayAtFirstIsTried) {
  time_ns = 1;
  bool there = false;
  std::vector<uint32_t> due;
  DeviceHealth health(
      [&](uint32_t, bool anew) -> Status {
        EXPECT_TRUE(anew);
        if (!there) return fail(CL_DEVICE_NOT_AVAILABLE, "it is away");
        return {};
      },
      &clock_of_test);
  health.set_hooks({.lost = [](uint32_t, const Error&) { ADD_FAILURE() << "nothing is lost"; },
                    .due = [&](uint32_t backend) { due.push_back(backend); }});
  health.begin_lost(1);
  EXPECT_EQ(health.usable(0b11), 0b01u);
  EXPECT_TRUE(due.empty());
  time_ns += 1'000'000'000;
  health.usable(0b11);
  ASSERT_EQ(due, std::vector<uint32_t>{1});
  health.retry(1);
  EXPECT_EQ(health.usable(0b11), 0b01u);
  there = true;
  time_ns += 2'000'000'000;
  health.usable(0b11);
  ASSERT_EQ(due.size(), 2u);
  health.retry(1);
  EXPECT_EQ(health.usable(0b11), 0b11u);
  EXPECT_EQ(health.losses(1).ns, 3'000'000'000u);
}

TEST(DeviceHealth, IsLostWhenItFailsInARowAndInATrial) {
  time_ns = 1;
  int trials = 0, lost = 0;
  bool renewals = false;  // trials are in a context of their own
  Status trial;
  DeviceHealth health(
      [&](uint32_t, bool anew) {
        ++trials;
        EXPECT_EQ(anew, renewals);
        return trial;
      },
      &clock_of_test);
  std::vector<uint32_t> due;
  health.set_hooks({.lost = [&](uint32_t, const Error&) { ++lost; },
                    .due = [&](uint32_t backend) { due.push_back(backend); }});
  const Error why{CL_OUT_OF_RESOURCES, "it fails"};
  EXPECT_FALSE(health.suspect(1));
  for (int i = 0; i < 2; ++i) health.note_failure(1, why);
  EXPECT_TRUE(health.suspect(1));
  EXPECT_EQ(trials, 0);
  health.note_failure(1, why);  // the third, but the trial finds it well
  EXPECT_EQ(trials, 1);
  EXPECT_EQ(health.lost(), 0u);
  health.note_success(1);
  trial = fail(CL_OUT_OF_RESOURCES, "in the trial, too");
  for (int i = 0; i < 2; ++i) health.note_failure(1, why);
  EXPECT_EQ(health.lost(), 0u);
  health.note_failure(1, why);
  EXPECT_EQ(health.lost(), backend_bit(1));
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(health.usable(0b111), 0b101u);
  EXPECT_EQ(health.usable(0b010), 0b010u);  // there is nothing else
  EXPECT_TRUE(due.empty());
  // After a second it is tried, once; then after two.
  time_ns += 1'000'000'000;
  health.usable(0b111);
  health.usable(0b111);
  ASSERT_EQ(due, std::vector<uint32_t>{1});
  renewals = true;
  health.retry(1);
  EXPECT_EQ(health.lost(), backend_bit(1));
  time_ns += 1'999'999'999;
  health.usable(0b111);
  EXPECT_EQ(due.size(), 1u);
  time_ns += 1;
  health.usable(0b111);
  EXPECT_EQ(due.size(), 2u);
  trial = {};
  health.retry(1);
  EXPECT_EQ(health.lost(), 0u);
  EXPECT_EQ(health.usable(0b111), 0b111u);
  EXPECT_EQ(health.losses(1).count, 1u);
  EXPECT_EQ(health.losses(1).ns, 3'000'000'000u);
  // Lost again before it is trusted: it waits longer.
  renewals = false;
  trial = fail(CL_OUT_OF_RESOURCES, "again");
  for (int i = 0; i < 3; ++i) health.note_failure(1, why);
  EXPECT_EQ(health.lost(), backend_bit(1));
  time_ns += 3'999'999'999;
  health.usable(0b111);
  EXPECT_EQ(due.size(), 2u);
  time_ns += 1;
  health.usable(0b111);
  EXPECT_EQ(due.size(), 3u);
  EXPECT_EQ(health.losses(1).count, 2u);
}

// A process that ends says little of its device, and the application feels no trial.
TEST(DeviceHealth, IsTriedEveryEightSecondsAtLeastWhereItHasAProcessOfItsOwn) {
  time_ns = 1;
  DeviceHealth health([](uint32_t, bool) -> Status { return fail(CL_OUT_OF_RESOURCES, "away"); },
                      &clock_of_test);
  health.set_device(0, "in the application", false);
  health.set_device(1, "a node", true);
  std::vector<uint32_t> due;
  health.set_hooks({.due = [&](uint32_t backend) { due.push_back(backend); }});
  for (const uint32_t backend : {0, 1}) health.begin_lost(backend);
  std::array<int, 2> tried{};
  for (int second = 0; second < 600; ++second) {
    time_ns += 1'000'000'000;
    health.usable(0b111);
    for (const uint32_t backend : std::exchange(due, {})) {
      health.retry(backend);
      if (second >= 300) ++tried[backend];
    }
  }
  EXPECT_LE(tried[0], 1);
  EXPECT_NEAR(tried[1], 300 / 8, 1);
}

TEST(DeviceHealth, IsTriedAtOnceWhereItAloneHasWhatCannotBeHad) {
  time_ns = 1;
  int lost = 0;
  Status trial;
  DeviceHealth health([&](uint32_t, bool) { return trial; }, &clock_of_test);
  health.set_hooks({.lost = [&](uint32_t, const Error&) { ++lost; }});
  const Error why{CL_OUT_OF_RESOURCES, "it fails"};
  EXPECT_TRUE(health.confirm(1, why));
  EXPECT_EQ(health.lost(), 0u);
  trial = fail(CL_OUT_OF_RESOURCES, "in the trial, too");
  EXPECT_TRUE(health.confirm(1, {CL_MEM_OBJECT_ALLOCATION_FAILURE, "another's memory is full"}));
  EXPECT_EQ(health.lost(), 0u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(health.confirm(1, why));
    EXPECT_EQ(health.lost(), backend_bit(1));
    EXPECT_EQ(lost, 1);
  }
}

TEST(DeviceHealth, TakesPartOnceNothingOfTheOldContextIsUsed) {
  time_ns = 1;
  int contexts = 0;
  Status trial = fail(CL_OUT_OF_RESOURCES, "");
  DeviceHealth health(
      [&](uint32_t, bool anew) {
        contexts += anew;
        return trial;
      },
      &clock_of_test);
  int due = 0, renewed = 0, back = 0;
  health.set_hooks({.due = [&](uint32_t) { ++due; },
                    .renewed = [&](uint32_t) { ++renewed; },
                    .back = [&](uint32_t, uint64_t, uint64_t) { ++back; }});
  health.note_failure(0, Error{CL_DEVICE_NOT_AVAILABLE, "gone"});
  trial = {};
  health.retry(0);
  EXPECT_EQ(renewed, 1);
  EXPECT_EQ(health.lost(), backend_bit(0));
  health.ready(0, false);  // a buffer there is in use
  EXPECT_EQ(health.lost(), backend_bit(0));
  time_ns += 1'000'000'000;
  health.usable(0b11);
  EXPECT_EQ(due, 1);
  health.retry(0);
  EXPECT_EQ(contexts, 1);  // the one that it has
  health.ready(0, true);
  EXPECT_EQ(health.lost(), 0u);
  EXPECT_EQ(back, 1);
}

TEST(DeviceHealth, SaysThatItIsLost) {
  DeviceHealth health(
      [](uint32_t, bool) -> Status { return fail(CL_DEVICE_NOT_AVAILABLE, "gone"); },
      &clock_of_test);
  health.note_failure(0, Error{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ""});
  EXPECT_EQ(health.lost(), 0u);
  health.note_failure(0, Error{CL_DEVICE_NOT_AVAILABLE, "gone"});
  EXPECT_EQ(health.lost(), backend_bit(0));
}

TEST(DeviceHealth, IsTrustedAgainAfterManySuccesses) {
  DeviceHealth health([](uint32_t, bool) { return Status(); }, &clock_of_test);
  health.note_failure(2, Error{CL_OUT_OF_RESOURCES, ""});
  EXPECT_TRUE(health.any_suspect());
  for (int i = 0; i < 1000 && health.suspect(2); ++i) health.note_success(2);
  EXPECT_FALSE(health.suspect(2));
  EXPECT_FALSE(health.any_suspect());
}

}  // namespace
}  // namespace tutti::testing
