// SPDX-License-Identifier: Apache-2.0
#include "base/live_counters.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace tutti {
namespace {

using live::Busy;

/// The words of a Busy, as a reader gets them.
uint64_t total(const Busy& busy, uint64_t at_ns) {
  uint64_t words[2];
  static_assert(sizeof words == sizeof busy);
  std::memcpy(words, &busy, sizeof words);
  return Busy::total(words[0], words[1], at_ns);
}

TEST(LiveCountersTest, BusyIsTheTimeOfAllTogether) {
  Busy busy;
  const uint64_t before = tick_ns();
  EXPECT_EQ(total(busy, before), 0u);
  busy.begin();
  busy.begin();
  busy.end();
  // It goes on: what a reader sees grows with the time that it asks for.
  EXPECT_GE(total(busy, now_ns() + 5'000'000), 5000u);
  busy.end();
  const uint64_t took = total(busy, now_ns());
  EXPECT_LE(took, (tick_ns() - before) / 1000 + 1);
  EXPECT_EQ(total(busy, now_ns() + 5'000'000'000), took) << "it has ended";
  busy.end();  // one too many
  EXPECT_EQ(total(busy, now_ns()), took);
}

TEST(LiveCountersTest, TimesWrapAround) {
  // Begun a moment before the time's 40 bits are full, seen a moment after.
  const uint64_t full = Busy::kTimeMask;
  const uint64_t state = (uint64_t{1} << Busy::kTimeBits) | (full - 10);
  EXPECT_EQ(Busy::total(3, state, (full + 1 + 5) * 1000), 3u + 16);
  EXPECT_EQ(Busy::total(3, state, (full - 20) * 1000), 3u) << "a moment before it began";
}

TEST(LiveCountersTest, ManyThreadsLeaveItIdle) {
  Busy busy;
  std::vector<std::thread> threads;
  const uint64_t before = tick_ns();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&busy] {
      for (int k = 0; k < 20000; ++k) busy.begin(), busy.end();
    });
  }
  for (auto& thread : threads) thread.join();
  const uint64_t took = total(busy, now_ns());
  EXPECT_EQ(total(busy, now_ns() + 1'000'000'000), took) << "something is still busy";
  EXPECT_LE(took, 2 * ((tick_ns() - before) / 1000) + 1);
}

TEST(LiveCountersTest, KnowsProcessesByTheirStart) {
  EXPECT_NE(live::start_ticks(getpid()), 0u);
  EXPECT_EQ(live::start_ticks(-1), 0u);
  EXPECT_NE(live::pid_namespace(), 0u);
}

TEST(LiveCountersTest, PublishesOnceAndRemovesItsFile) {
  TemporaryFolder folder;
  EXPECT_EQ(live::process(), nullptr);
  EXPECT_EQ(live::device({}), nullptr) << "nobody counts before";
  live::set_lost(0, true);
  const std::string own = folder / "a/top";
  live::start(own);
  ASSERT_NE(live::process(), nullptr);
  const auto first = *std::filesystem::directory_iterator(own);
  EXPECT_EQ(first.path().filename().string(),
            std::to_string(getpid()) + "-" + std::to_string(live::start_ticks(getpid())));
  live::Device* device = live::device({7, 1, "D", "P", "V", ""});
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(live::device({7, 1, "D", "P", "V", ""}), device);
  live::set_lost(7, true);
  live::set_lost(8, true);  // nobody counts for it
  EXPECT_EQ(device->lost, 1u);
  live::set_lost(7, false);
  EXPECT_EQ(device->lost, 0u);
  live::Kernel* kernel = live::kernel(device, std::string(500, 'k'));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(live::kernel(device, std::string(500, 'k')), kernel);
  EXPECT_NE(live::kernel(device, "other"), kernel);
  // There is an end to it.
  for (uint32_t i = 0; i < live::kMostKernels + 10; ++i) live::kernel(device, std::to_string(i));
  EXPECT_EQ(live::kernel(device, "one too many"), nullptr);
  for (uint32_t i = 0; i < live::kMostDevices + 10; ++i) live::device({100 + i, 1, "", "", "", ""});
  EXPECT_EQ(live::device({99, 1, "", "", "", ""}), nullptr);
  live::stop();
  EXPECT_TRUE(std::filesystem::is_empty(own));
  live::add(device->bytes_to_device, 1);  // who still counts does no harm
}

}  // namespace
}  // namespace tutti
