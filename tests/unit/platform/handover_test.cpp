// SPDX-License-Identifier: Apache-2.0
// Items handed over are worked on once each, in order, whoever does it.
#include "platform/handover.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti {
namespace {

constexpr size_t kRoom = 8;

struct Numbers {
  Handover<int, kRoom> handover;
  std::vector<int> done;  // by one thread at a time

  void push(TaskThread& worker, std::shared_ptr<Numbers> self, int number, bool* had_room = {}) {
    const bool room = handover.push(
        worker, std::move(self), [number](int& slot) { slot = number; },
        [this](int& item) { done.push_back(item); });
    if (had_room) *had_room = room;
  }
  void drain() {
    handover.drain([this](int& item) { done.push_back(item); });
  }
};

std::vector<int> counted(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i;
  return numbers;
}

TEST(Handover, KeepsTheOrder) {
  TaskThread worker("test-worker");
  auto numbers = std::make_shared<Numbers>();
  for (int i = 0; i < 20000; ++i) {
    numbers->push(worker, numbers, i);
    if (i % 977 == 0) {
      numbers->drain();
      ASSERT_EQ(numbers->done.size(), static_cast<size_t>(i) + 1);
    }
  }
  numbers->drain();
  EXPECT_EQ(numbers->done, counted(20000));
}

TEST(Handover, AFullRingIsWorkedOffByWhoPushes) {
  TaskThread worker("test-worker");
  worker.stop();  // and takes no tasks any more
  auto numbers = std::make_shared<Numbers>();
  bool had_room = false;
  for (int i = 0; i < static_cast<int>(kRoom); ++i) {
    numbers->push(worker, numbers, i, &had_room);
    EXPECT_TRUE(had_room);
  }
  EXPECT_TRUE(numbers->done.empty());
  numbers->push(worker, numbers, kRoom, &had_room);
  EXPECT_FALSE(had_room);
  EXPECT_EQ(numbers->done, counted(kRoom / 2));
  numbers->drain();
  EXPECT_EQ(numbers->done, counted(kRoom + 1));
  numbers->drain();
  EXPECT_EQ(numbers->done, counted(kRoom + 1));
}

TEST(Handover, AWorkerDoesItWithoutAnybodyAsking) {
  TaskThread worker("test-worker");
  struct Box {
    Handover<int, kRoom> handover;
    std::atomic<int> sum{0};
  };
  auto box = std::make_shared<Box>();
  // Each push may find the worker going to sleep.
  for (int i = 1; i <= 2000; ++i) {
    box->handover.push(
        worker, box, [](int& slot) { slot = 1; },
        [&sum = box->sum](int& item) {
          sum += item;
          sum.notify_all();
        });
    if (i % 3 == 0) {
      for (int seen = box->sum; seen != i; seen = box->sum) box->sum.wait(seen);
    }
  }
  for (int seen = box->sum; seen != 2000; seen = box->sum) box->sum.wait(seen);
}

TEST(Handover, ManyThreadsPushAndAsk) {
  TaskThread worker("test-worker");
  auto numbers = std::make_shared<Numbers>();
  constexpr int kThreads = 4, kEach = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        numbers->push(worker, numbers, t * kEach + i);
        if (i % 100 == t) numbers->drain();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  numbers->drain();
  ASSERT_EQ(numbers->done.size(), static_cast<size_t>(kThreads * kEach));
  std::vector<int> next(kThreads, 0);
  for (const int item : numbers->done) {
    const auto thread = static_cast<size_t>(item / kEach);
    EXPECT_EQ(item % kEach, next[thread]++);  // each thread's in its order
  }
}

TEST(Handover, LivesUntilTheWorkerHasGone) {
  TaskThread worker("test-worker");
  std::weak_ptr<Numbers> seen;
  {
    auto numbers = std::make_shared<Numbers>();
    seen = numbers;
    for (int i = 0; i < 100; ++i) numbers->push(worker, numbers, i);
    numbers->drain();
  }
  std::atomic<bool> behind{false};
  worker.post([&] {
    behind = true;
    behind.notify_all();
  });
  behind.wait(false);
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace tutti
