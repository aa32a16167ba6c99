// SPDX-License-Identifier: Apache-2.0
#include "base/live_counters.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/live_processes.h"
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

/// The second word of a Busy.
uint64_t state_of(const Busy& busy) {
  uint64_t words[2];
  std::memcpy(words, &busy, sizeof words);
  return words[1];
}

TEST(LiveCountersTest, OthersAreToldSinceWhenAndNoMore) {
  Busy busy, shown;
  for (int i = 0; i < 3; ++i) busy.begin(), busy.show_in(shown);
  EXPECT_EQ(state_of(busy) >> Busy::kTimeBits, 3u);
  EXPECT_EQ(state_of(shown) >> Busy::kTimeBits, 1u);
  EXPECT_EQ(state_of(shown) & Busy::kTimeMask, state_of(busy) & Busy::kTimeMask);
  for (int i = 0; i < 3; ++i) busy.end(), busy.show_in(shown);
  EXPECT_EQ(total(shown, now_ns() + 1'000'000'000), 0u) << "it has ended, and was not counted";
}

TEST(LiveCountersTest, WhoStoresLateHasSeenWhatOthersDid) {
  Busy busy, shown;
  int times = 0;
  const auto another = [&] {
    if (times++ == 0) busy.end(), busy.show_in(shown);
  };
  busy.begin(), busy.show_in(shown, another);
  EXPECT_EQ(state_of(shown), 0u) << "another thread has ended it";
  times = 0;
  busy.begin(), busy.begin(), busy.show_in(shown);
  const auto begins = [&] {
    if (times++ == 0) busy.begin(), busy.show_in(shown);
  };
  busy.end(), busy.end(), busy.show_in(shown, begins);
  EXPECT_EQ(state_of(shown), state_of(busy)) << "another thread has begun anew";
}

TEST(LiveCountersTest, ManyThreadsLeaveWhatIsShownAsItIs) {
  Busy busy, shown;
  const auto beside = [&](int times, bool ends_busy) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&busy, &shown, times, ends_busy] {
        for (int k = 0; k < times; ++k) {
          busy.begin(), busy.show_in(shown);
          if (ends_busy && k + 1 == times) continue;
          busy.end(), busy.show_in(shown);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  };
  for (int round = 0; round < 10; ++round) {
    beside(200, false);
    EXPECT_EQ(state_of(shown), 0u) << round;
    beside(200, true);
    EXPECT_EQ(state_of(shown), uint64_t{1} << Busy::kTimeBits | (state_of(busy) & Busy::kTimeMask));
    for (int i = 0; i < 4; ++i) busy.end(), busy.show_in(shown);
  }
}

TEST(LiveCountersTest, TheBoardIsTheMachinesWhereThatHasOne) {
  TemporaryFolder folder;
  const std::string machines = folder / "machine";
  live::Board board = live::board_for(machines, "own");
  EXPECT_EQ(board.folder, "own");
  EXPECT_TRUE(board.missing && !board.of_machine && !board.problem.empty());
  std::filesystem::create_directory(machines);
  ASSERT_EQ(chmod(machines.c_str(), 0777), 0);
  board = live::board_for(machines, "own");
  EXPECT_EQ(board.folder, "own");
  EXPECT_TRUE(!board.missing && !board.of_machine);
  EXPECT_EQ(board.problem, kNotSticky);
  ASSERT_EQ(chmod(machines.c_str(), 01777), 0);
  board = live::board_for(machines, "own");
  EXPECT_EQ(board.folder, machines);
  EXPECT_TRUE(board.of_machine && board.problem.empty());
  board = live::board_for("user", "own");
  EXPECT_EQ(board.folder, "own");
  EXPECT_TRUE(!board.of_machine && board.problem.empty());
}

TEST(LiveCountersTest, WhatACrashLeavesIsRemovedByItsUser) {
  TemporaryFolder folder;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  const std::string left = live::file_name(gone, live::start_ticks(gone));
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  const std::string living = live::file_name(getpid(), live::start_ticks(getpid()));
  folder.write(left, "");
  folder.write(living, "");
  folder.write("notes", "");
  ASSERT_EQ(mkfifo((folder / "7-7").c_str(), 0600), 0);
  live::Header elsewhere;
  elsewhere.pid_namespace = live::pid_namespace() + 1;
  folder.write("1-1", std::string(reinterpret_cast<const char*>(&elsewhere), sizeof elsewhere));
  const auto shared = SharedFolder::open(folder.path());
  ASSERT_TRUE(shared);
  live::remove_stale(*shared);
  EXPECT_FALSE(std::filesystem::exists(folder / left));
  for (const char* stays : {living.c_str(), "notes", "7-7", "1-1"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / stays)) << stays;
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  folder.write(left, "");
  ASSERT_EQ(chown((folder / left).c_str(), 65534, 65534), 0);
  live::remove_stale(*shared);
  EXPECT_TRUE(std::filesystem::exists(folder / left)) << "another user's";
}

TEST(LiveCountersTest, AProcessIsItsUsers) {
  const live::FileOwner self{getpid(), live::start_ticks(getpid())};
  EXPECT_EQ(live::life_of(self, geteuid()), live::Life::kAlive);
  EXPECT_EQ(live::life_of(self, geteuid() + 1), live::Life::kGone) << "in another user's name";
  for (const live::FileOwner& none :
       {live::FileOwner{getpid(), self.start_ticks + 1}, {0, 1}, {-1, 1}, {}}) {
    EXPECT_EQ(live::life_of(none, geteuid()), live::Life::kGone);
    EXPECT_EQ(live::life_of(none, geteuid() + 1), live::Life::kGone);
  }
  // Another user, from whom /proc hides this process.
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 || setgroups(0, nullptr) != 0 ||
        setgid(65534) != 0 || setuid(65534) != 0) {
      _exit(2);
    }
    const bool hidden = live::start_ticks(self.process) == 0 &&
                        live::life_of(self, 0) == live::Life::kHidden &&
                        live::life_of(self, geteuid()) == live::Life::kGone;
    const live::FileOwner gone{0x3fffff, 1};  // a number that no process has
    _exit(hidden && live::life_of(gone, 0) == live::Life::kGone ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
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
  const std::string own = folder / "a/top", board = folder / "board";
  std::filesystem::create_directory(board);
  live::start(own, live::board_for(board, own));
  ASSERT_NE(live::process(), nullptr);
  const auto first = *std::filesystem::directory_iterator(own);
  EXPECT_EQ(first.path().filename().string(),
            std::to_string(getpid()) + "-" + std::to_string(live::start_ticks(getpid())));
  live::Device* device = live::device({7, 1, "D", "P", "V", "0000:01:00.0"});
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(live::device({7, 1, "D", "P", "V", "0000:01:00.0"}), device);
  live::set_lost(7, true);
  live::set_lost(8, true);  // nobody counts for it
  EXPECT_EQ(device->lost, 1u);
  live::set_lost(7, false);
  EXPECT_EQ(device->lost, 0u);
  live::Kernel* kernel = live::kernel(device, std::string(500, 'k'));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(live::kernel(device, std::string(500, 'k')), kernel);
  EXPECT_NE(live::kernel(device, "other"), kernel);
  // Other users see which device it is and how long it is busy, and nothing else.
  const std::string shown = board + "/" + first.path().filename().string();
  struct stat status {};
  ASSERT_EQ(stat(shown.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644u);
  ASSERT_EQ(stat(first.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  live::add(device->commands, 5);
  live::on_board(device)->busy_until_ns = 4711;
  live::begin_busy(*device);
  const std::string content = read_file(shown, {}).value();
  live::LiveProcess told;
  ASSERT_TRUE(live::parse_process(content, now_ns() + 1'000'000'000, told));
  ASSERT_EQ(told.devices.size(), 1u);
  EXPECT_EQ(told.process, getpid());
  EXPECT_EQ(told.program, "");
  EXPECT_EQ(told.published_ns, 0u);
  const live::LiveDevice& there = told.devices[0];
  EXPECT_EQ(there.name + there.platform + there.pci_address, "DP0000:01:00.0");
  EXPECT_EQ(there.index, 7u);
  EXPECT_TRUE(there.vendor.empty() && there.kernels.empty());
  EXPECT_EQ(there.commands + there.type, 0u);
  EXPECT_GE(there.busy_us, 900'000u) << "it is busy since a moment ago";
  EXPECT_EQ(content.find("kkkk"), std::string::npos);
  live::end_busy(*device);
  ASSERT_TRUE(live::parse_process(read_file(shown, {}).value(), now_ns(), told));
  EXPECT_EQ(told.devices.back().busy_us, 0u);
  EXPECT_EQ(device->busy_until_ns, 0u) << "it is told once";
  // There is an end to it.
  for (uint32_t i = 0; i < live::kMostKernels + 10; ++i) live::kernel(device, std::to_string(i));
  EXPECT_EQ(live::kernel(device, "one too many"), nullptr);
  for (uint32_t i = 0; i < live::kMostDevices + 10; ++i) live::device({100 + i, 1, "", "", "", ""});
  EXPECT_EQ(live::device({99, 1, "", "", "", ""}), nullptr);
  live::stop();
  EXPECT_TRUE(std::filesystem::is_empty(own));
  EXPECT_TRUE(std::filesystem::is_empty(board));
  live::add(device->bytes_to_device, 1);  // who still counts does no harm
}

}  // namespace
}  // namespace tutti
