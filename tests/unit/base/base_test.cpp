// SPDX-License-Identifier: Apache-2.0
// The small parts: reference counts, locks, clock, error names, kept files, process exit.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "base/all_at_once.h"
#include "base/cl_error_name.h"
#include "base/clock.h"
#include "base/fair_mutex.h"
#include "base/guarded.h"
#include "base/kept_file.h"
#include "base/lower_case.h"
#include "base/own_files.h"
#include "base/process_exit.h"
#include "base/ref_counted.h"
#include "base/task_thread.h"
#include "base/thread_annotations.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

struct Counted : RefCounted {
  explicit Counted(int* destroyed) : destroyed_(destroyed) {}
  ~Counted() override { ++*destroyed_; }
  int* destroyed_;
};
struct Derived : Counted {
  using Counted::Counted;
};

TEST(FairMutex, ServesWhoeverHasWaitedFirst) {
  FairMutex mutex;
  for (int i = 0; i < 100; ++i) {
    bool other_had_it = false;
    mutex.lock();
    std::thread other([&] {
      const MutexLock lock(mutex);
      other_had_it = true;
    });
    while (!mutex.contended()) std::this_thread::yield();
    mutex.unlock();
    mutex.lock();  // at once, while the other thread is waking up
    EXPECT_TRUE(other_had_it);
    mutex.unlock();
    other.join();
  }
}

TEST(RefCounted, LivesAsLongAsItsReferences) {
  int destroyed = 0;
  auto first = make_ref<Counted>(&destroyed);
  EXPECT_EQ(first->references(), 1u);
  {
    Ref<Counted> second = first;
    EXPECT_EQ(first->references(), 2u);
    EXPECT_TRUE(first == second);
    Ref<Counted> third = std::move(second);
    EXPECT_FALSE(second);
    EXPECT_EQ(first->references(), 2u);
  }
  EXPECT_EQ(first->references(), 1u);
  Counted* raw = first.detach();
  EXPECT_FALSE(first);
  EXPECT_EQ(destroyed, 0);
  first = Ref<Counted>::adopt(raw);
  const auto& same = first;
  first = same;  // to itself
  EXPECT_EQ(first->references(), 1u);
  first = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST(RefCounted, ConvertsToItsBase) {
  int destroyed = 0;
  auto derived = make_ref<Derived>(&destroyed);
  Ref<Counted> base = derived;
  EXPECT_EQ(base->references(), 2u);
  base = std::move(derived);
  EXPECT_EQ(base->references(), 1u);
  base = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST(RefCounted, ManyThreads) {
  int destroyed = 0;
  auto object = make_ref<Counted>(&destroyed);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([object] {
      for (int i = 0; i < 10000; ++i) Ref<Counted> copy = object;
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(object->references(), 1u);
  object = nullptr;
  EXPECT_EQ(destroyed, 1);
}

bool is_free(Mutex& mutex) {
  if (!mutex.try_lock()) return false;
  mutex.unlock();
  return true;
}

TEST(ThreadAnnotations, LockAndWait) {
  struct Box {
    Mutex mutex;
    ConditionVariable changed;
    int value TUTTI_GUARDED_BY(mutex) = 0;
  } box;
  std::thread other([&box] {
    for (int i = 0; i < 3; ++i) {
      MutexLock lock(box.mutex);
      ++box.value;
      box.changed.notify_all();
    }
  });
  {
    MutexLock lock(box.mutex);
    while (box.value < 3) box.changed.wait(box.mutex);
    EXPECT_EQ(box.value, 3);
    lock.unlock();
    EXPECT_TRUE(is_free(box.mutex));
    lock.lock();
  }
  EXPECT_TRUE(is_free(box.mutex));
  other.join();
}

TEST(Clock, RunsForward) {
  const uint64_t first = now_ns();
  uint64_t second = now_ns();
  while (second == first) second = now_ns();
  EXPECT_GT(second, first);
  EXPECT_DOUBLE_EQ(seconds_between(1'000'000'000, 3'500'000'000), 2.5);
  EXPECT_DOUBLE_EQ(seconds_between(3'500'000'000, 1'000'000'000), -2.5);
}

TEST(Names, ErrorsAndCase) {
  EXPECT_EQ(cl_error_name(CL_SUCCESS), "CL_SUCCESS");
  EXPECT_EQ(cl_error_name(CL_INVALID_KERNEL_ARGS), "CL_INVALID_KERNEL_ARGS");
  EXPECT_EQ(cl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  EXPECT_EQ(cl_error_name(-9999), "error -9999");
  EXPECT_EQ(lower_case("ÄbC-Z"), "Äbc-z");
  EXPECT_TRUE(contains_ignoring_case("Portable", "TABLE"));
  EXPECT_FALSE(contains_ignoring_case("Portable", "tables"));
}

TEST(OwnFiles, ThisProgram) { EXPECT_THAT(own_binary(), ::testing::EndsWith("/tutti-base-tests")); }

TEST(KeptFile, IsWholeOrNotThere) {
  TemporaryFolder folder;
  const std::string file = folder / "a/b";
  EXPECT_FALSE(read_kept(file));
  EXPECT_FALSE(read_kept(folder.path()));  // no file
  for (const std::string& content :
       {std::string("x\0y\n", 4), std::string(), std::string(3 << 20, 'z')}) {
    ASSERT_TRUE(keep_file(file, content));
    EXPECT_EQ(read_kept(file), content);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "a"), {}), 1);

  std::filesystem::create_directory(folder / "c");
  const Status failed = keep_file(folder / "c", "");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, testing::HasSubstr("Is a directory"));
  EXPECT_FALSE(keep_file(file + "/below", ""));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(KeptFile, ReadersNeverSeeAPart) {
  TemporaryFolder folder;
  const std::string file = folder / "f";
  ASSERT_TRUE(keep_file(file, std::string(1000, 'a')));
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      const auto content = read_kept(file);
      ASSERT_TRUE(content);
      EXPECT_EQ(*content, std::string(content->front() == 'a' ? 1000 : 70000, content->front()));
    }
  });
  for (int i = 0; i < 300; ++i) {
    const bool odd = i % 2 == 1;
    EXPECT_TRUE(keep_file(file, std::string(odd ? 1000 : 70000, odd ? 'a' : 'b')));
  }
  over = true;
  reader.join();
}

TEST(ProcessExitDeathTest, VendorsAreGoneInExitHandlersThatWereRegisteredBefore) {
  EXPECT_EXIT(
      {
        // Stands for a vendor's handler: registered before ours, so it runs after.
        std::atexit([] { _exit(vendors_gone() ? 7 : 8); });
        watch_process_exit();
        if (vendors_gone()) _exit(9);
        std::exit(0);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ProcessExitDeathTest, VendorsAreGoneInAForkedChild) {
  EXPECT_EXIT(
      {
        watch_process_exit();
        const pid_t child = fork();
        if (child == 0) _exit(vendors_gone() ? 5 : 6);
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WEXITSTATUS(status) + (vendors_gone() ? 100 : 0));
      },
      ::testing::ExitedWithCode(5), "");
}

TEST(TaskThread, NothingBeginsOnceItHasStopped) {
  TaskThread thread("test");
  thread.stop();
  bool begun = false;
  thread.post([&begun] { begun = true; });
  thread.stop();
  EXPECT_FALSE(begun);
}

TEST(TaskThread, LeavesTheSignalsOfItsOwnFaultsOpen) {
  std::promise<sigset_t> promise;
  TaskThread thread("test");
  thread.post([&promise] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    promise.set_value(blocked);
  });
  const sigset_t blocked = promise.get_future().get();
  for (const int own : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGSYS}) {
    EXPECT_FALSE(sigismember(&blocked, own)) << own;
  }
  for (const int others : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD}) {
    EXPECT_TRUE(sigismember(&blocked, others)) << others;
  }
}

TEST(Guarded, TellsWhatWasThrown) {
  EXPECT_TRUE(guarded([] {}));
  EXPECT_EQ(code_of(guarded([] { throw std::bad_alloc(); })), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(code_of(guarded([] { static_cast<void>(std::vector<int>().at(1)); })),
            CL_OUT_OF_RESOURCES);
  EXPECT_EQ(code_of(guarded([] { throw 1; })), CL_OUT_OF_RESOURCES);
}

TEST(AllAtOnce, RunsEveryTaskAndTellsTheFirstError) {
  std::atomic<int> ran{0};
  const auto good = [&ran]() -> Status {
    ++ran;
    return {};
  };
  EXPECT_TRUE(all_at_once("test", {}));
  EXPECT_TRUE(all_at_once("test", {good, good, good}));
  EXPECT_EQ(ran, 3);
  const auto throws = []() -> Status { throw std::bad_alloc(); };
  const auto fails = []() -> Status { return fail(CL_OUT_OF_RESOURCES, "no"); };
  EXPECT_EQ(code_of(all_at_once("test", {good, throws, fails, good})), CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(code_of(all_at_once("test", {fails, throws, good})), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(ran, 6);
}

TEST(AllAtOnce, TasksRunAtTheSameTime) {
  std::promise<void> first, second;  // each waits for the other
  EXPECT_TRUE(all_at_once("test", {[&]() -> Status {
                                     first.set_value();
                                     second.get_future().wait();
                                     return {};
                                   },
                                   [&]() -> Status {
                                     second.set_value();
                                     first.get_future().wait();
                                     return {};
                                   }}));
}

}  // namespace
}  // namespace tutti
