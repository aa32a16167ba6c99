// SPDX-License-Identifier: Apache-2.0
// Threads of ours, the application's, and the exit of the process: each in a process of its own,
// whose exit code tells.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/calling_threads.h"
#include "base/clock.h"
#include "base/energy_sampler.h"
#include "base/process_exit.h"
#include "base/task_thread.h"
#include "base/thread_signals.h"

namespace tutti::testing {
namespace {

int threads_of_the_process() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

void wait_for_threads(int count) {
  while (threads_of_the_process() != count) sched_yield();
}

void in_calling_thread(const std::function<void()>& calls) {
  std::thread([&calls] {
    note_calling_thread();
    calls();
  }).join();
}

void run_in(TaskThread& thread) {
  std::promise<void> done;
  thread.post([&done] { done.set_value(); });
  done.get_future().wait();
}

class CallingThreadsDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own, and threads are counted here";
#endif
  }
};

TEST_F(CallingThreadsDeathTest, ThreadsEndWithTheLastOfTheApplicationAndBeginAnew) {
  EXPECT_EXIT(
      {
        TaskThread one("one");
        TaskThread other("other");
        for (int round = 0; round < 3; ++round) {
          in_calling_thread([&] {
            in_calling_thread([&] { run_in(one); });
            run_in(other);
            if (threads_of_the_process() != 4) _exit(1);  // somebody calls yet
          });
          wait_for_threads(1);
          if (!application_gone()) _exit(2);
        }
        _exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(CallingThreadsDeathTest, WhatIsUnderWayEndsFirst) {
  EXPECT_EXIT(
      {
        TaskThread one("one");
        TaskThread other("other");
        std::promise<void> go;
        std::atomic<bool> done = false;
        in_calling_thread([&] {
          one.post([&] {
            go.get_future().wait();
            other.post([&] { done = true; });
          });
        });
        wait_for_threads(3);  // with who stands in for the application
        go.set_value();
        wait_for_threads(1);
        _exit(done ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(CallingThreadsDeathTest, TheApplicationsSignalsAreTakenWhileSomethingIsUnderWay) {
  EXPECT_EXIT(
      {
        TaskThread thread("one");
        std::promise<void> never;
        const std::shared_future<void> for_ever = never.get_future().share();
        in_calling_thread([&] { thread.post([&] { for_ever.wait(); }); });
        const SignalMask blocked(signals_of_the_application());
        kill(getpid(), SIGTERM);
        for_ever.wait();
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(CallingThreadsDeathTest, TheApplicationsMaskIsTheirs) {
  EXPECT_EXIT(
      {
        const SignalMask blocked(signals_of_the_application());  // the application's threads, too
        TaskThread thread("one");
        std::promise<void> go;
        in_calling_thread([&] { thread.post([&] { go.get_future().wait(); }); });
        wait_for_threads(3);
        kill(getpid(), SIGTERM);
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        int signal = 0;
        sigwait(&term, &signal);
        go.set_value();
        wait_for_threads(1);
        _exit(signal == SIGTERM ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(CallingThreadsDeathTest, WhatGoesOnForEverWaitsForTheApplication) {
  EXPECT_EXIT(
      {
        TaskThread thread("one");
        std::atomic<int> runs = 0;
        in_calling_thread([&] { run_in(thread); });
        wait_for_threads(1);
        thread.post_for_application([&] { ++runs; });
        if (threads_of_the_process() != 1) _exit(1);
        in_calling_thread([&] {
          while (runs == 0) sched_yield();
        });
        wait_for_threads(1);
        _exit(runs == 1 ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

class Meter final : public EnergySensor {
 public:
  explicit Meter(std::atomic<int>& reads) : reads_(reads) {}
  std::optional<double> joules() override { return ++reads_; }
  const std::string& name() const override { return name_; }

 private:
  const std::string name_ = "meter";
  std::atomic<int>& reads_;
};

TEST_F(CallingThreadsDeathTest, SensorsAreReadWhileTheApplicationIsThere) {
  EXPECT_EXIT(
      {
        std::atomic<int> reads = 0;
        std::vector<std::unique_ptr<EnergySensor>> sensors;
        sensors.push_back(std::make_unique<Meter>(reads));
        EnergySampler sampler(std::move(sensors), 1, [](const std::vector<EnergyReading>&) {});
        const auto wait_for_reads = [&] {
          for (const int before = reads; reads < before + 3;) sched_yield();
        };
        in_calling_thread([&] {
          sampler.start();
          wait_for_reads();
        });
        wait_for_threads(1);
        in_calling_thread(wait_for_reads);
        wait_for_threads(1);
        _exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(CallingThreadsDeathTest, WithoutACallThreadsStay) {
  EXPECT_EXIT(
      {
        TaskThread thread("one");
        std::thread([&] { run_in(thread); }).join();
        run_in(thread);
        _exit(threads_of_the_process() == 2 && !application_gone() ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ExitHoldDeathTest, ExitWaitsForWhatHolds) {
  EXPECT_EXIT(
      {
        process_exit_detail::patience_ns = 600'000'000'000;
        static std::atomic<bool> held{false};
        static std::atomic<bool> ended{false};
        std::atexit([] { _exit(ended ? 7 : 8); });  // a vendor's
        watch_process_exit();
        std::thread([] {
          const ExitHold hold;
          held = true;
          while (!vendors_gone()) sched_yield();
          for (int i = 0; i < 100; ++i) sched_yield();
          ended = true;
        }).detach();
        while (!held) sched_yield();
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ExitHoldDeathTest, ExitDoesNotWaitForTheApplicationNorForItself) {
  EXPECT_EXIT(
      {
        static std::atomic<bool> held{false};
        static uint64_t begun_ns = 0;
        // Whatever hangs is waited for, but some seconds only: these must not pass.
        std::atexit([] { _exit(now_ns() - begun_ns < 4'000'000'000 ? 7 : 8); });
        watch_process_exit();
        std::thread([] {
          const ExitHold hold;
          const ApplicationCode code;
          held = true;
          for (;;) pause();
        }).detach();
        while (!held) sched_yield();
        const ExitHold own;
        begun_ns = now_ns();
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ExitHoldDeathTest, WhatHangsDoesNotHoldForEver) {
  EXPECT_EXIT(
      {
        process_exit_detail::patience_ns = 50'000'000;
        static std::atomic<bool> held{false};
        std::atexit([] { _exit(7); });
        watch_process_exit();
        set_exit_hook([] { pause(); });
        std::thread([] {
          const ExitHold hold;
          held = true;
          for (;;) pause();
        }).detach();
        while (!held) sched_yield();
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ExitHoldDeathTest, TheHookNeedsNothingThatTheExitingThreadHolds) {
  EXPECT_EXIT(
      {
        process_exit_detail::patience_ns = 50'000'000;
        static Mutex mutex;
        std::atexit([] { _exit(7); });
        watch_process_exit();
        set_exit_hook([] { const MutexLock lock(mutex); });
        // As a signal handler does that has interrupted who holds it.
        const MutexLock lock(mutex);
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace tutti::testing
