// SPDX-License-Identifier: Apache-2.0
// Launches that repeat an earlier one but for numbers: which do, what they compute, what they keep,
// and that other threads find everything in order.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "engine_fixture.h"
#include "scheduler/batch/launch_batch.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineAgain : public EngineTest {
 protected:
  /// Devices on which every launch is a brief one, as their vendors measure it.
  void start(const FakeKinds& devices, SplitMode split) {
    EngineTest::start(devices, split);
    for (auto* fake : fakes) fake->measured_ns = 2000;
  }
  /// True when it repeats another one.
  bool launch(Stream& stream, const std::shared_ptr<LaunchableKernel>& kernel,
              const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out, uint32_t c,
              std::weak_ptr<const ArgumentSet>* arguments = nullptr) {
    KernelWork work = map_kernel(in, out, c);
    work.kernel = kernel;
    if (arguments) *arguments = work.arguments;
    if (launch_again(*engine, stream, work)) return true;
    EnqueueOptions options;
    options.type = CL_COMMAND_NDRANGE_KERNEL;
    options.observed = false;
    EXPECT_TRUE(engine->enqueue(stream, std::move(work), options));
    return false;
  }
  /// Launches at most, until enough are repeated: how many are measured or planned in between
  /// depends on how long the system makes them.
  static constexpr uint32_t kMany = 5000;
  /// First launches are measured, and each looks at where the data are. One that the system
  /// interrupted counts as a long one, which it takes others to outweigh.
  void launch_until_again(Stream& stream, const std::shared_ptr<LaunchableKernel>& kernel,
                          const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    uint32_t launches = 1;
    while (!launch(stream, kernel, in, out, 100) && launches < kMany) {
      if (++launches % 50 == 0) {
        EXPECT_TRUE(engine->finish(stream));
      }
    }
    EXPECT_LT(launches, kMany);
  }
  std::shared_ptr<LaunchableKernel> kernel() { return fake_kernel(KernelForm::kMap, set->count()); }
  static std::vector<std::byte> mapped(uint32_t in, uint32_t c) {
    return filled(static_cast<uint8_t>(in * 3 + c));
  }
};

TEST_F(EngineAgain, OnlyNumbersMayDiffer) {
  start({kCostlyTimes}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  const auto a = kernel(), b = kernel();
  const auto in = buffer(1), out = buffer(0), second = buffer(0);
  launch_until_again(*stream, a, in, out);
  EXPECT_TRUE(launch(*stream, a, in, out, 7));
  EXPECT_EQ(read(*stream, out), mapped(1, 7));
  // Others are looked at, and then known beside each other.
  EXPECT_FALSE(launch(*stream, b, in, out, 8));
  EXPECT_FALSE(launch(*stream, a, in, second, 9));
  EXPECT_FALSE(launch(*stream, a, out, second, 10));
  int again = 0;
  for (int round = 0; round < 30 && again < 4; ++round) {
    again = launch(*stream, b, in, out, 12) + launch(*stream, a, in, second, 13) +
            launch(*stream, a, out, second, 14) + launch(*stream, a, in, out, 15);
  }
  EXPECT_EQ(again, 4);
  EXPECT_EQ(read(*stream, out), mapped(1, 15));
  EXPECT_EQ(read(*stream, second), mapped(3 + 12, 14));
}

TEST_F(EngineAgain, ManyKindsInTurnRepeat) {
  start({kCostlyTimes}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  std::vector<std::shared_ptr<LaunchableKernel>> kernels;
  std::vector<Ref<LogicalBuffer>> buffers{buffer(1)};
  constexpr size_t kKinds = 40;
  for (size_t i = 0; i < kKinds; ++i) {
    kernels.push_back(kernel());
    buffers.push_back(buffer(0));
  }
  size_t again = 0;
  for (uint32_t round = 0; round < kMany && again < kKinds; ++round) {
    again = 0;
    for (size_t i = 0; i < kKinds; ++i) {
      again += launch(*stream, kernels[i], buffers[i], buffers[i + 1], round) ? 1 : 0;
    }
    uint32_t expected = 1;
    for (size_t i = 0; i < kKinds; ++i) expected = expected * 3 + round;
    if (round % 16 == 0 || again == kKinds) {
      ASSERT_EQ(read(*stream, buffers[kKinds]), filled(static_cast<uint8_t>(expected))) << round;
    }
  }
  EXPECT_EQ(again, kKinds);
}

TEST_F(EngineAgain, WhatOthersTouchIsLookedAt) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({}), other = engine->create_stream({});
  const auto a = kernel();
  const auto in = buffer(1), out = buffer(0), far = buffer(5);
  launch_until_again(*stream, a, in, out);
  for (uint32_t round = 0; round < 40; ++round) {
    const auto value = static_cast<uint8_t>(round + 2);
    const std::vector<std::byte> content(kBytes, std::byte{value});
    // Also where nobody has waited for what runs.
    const auto ended = round % 2 == 0 ? engine->finish(*stream) : Status();
    EXPECT_TRUE(ended);
    ASSERT_TRUE(enqueue(*other, WriteWork{whole(in), 0, kBytes, content.data()}, {}, true));
    EXPECT_FALSE(launch(*stream, a, in, out, round));
    EXPECT_EQ(read(*other, out), mapped(value, round));
    launch_until_again(*stream, a, in, out);
    // What is no concern of the launches ends nothing but the lease.
    EXPECT_EQ(read(*other, far), filled(5));
    EXPECT_TRUE(launch(*stream, a, in, out, round + 2));
    EXPECT_EQ(read(*stream, out), mapped(value, round + 2));
    launch_until_again(*stream, a, in, out);
  }
  EXPECT_TRUE(engine->finish(*stream));
}

/// Built on the first device only; elsewhere that takes longer than it will ever gain.
class BuiltOnOne final : public FakeKernel {
 public:
  using FakeKernel::FakeKernel;
  uint64_t ready_on(KernelVariant /*variant*/) const override { return 1; }
  double seconds_until_ready(uint64_t /*backends*/, KernelVariant /*variant*/) const override {
    return 1000;
  }
  void note_gain(double seconds, uint64_t /*backends*/, KernelVariant /*variant*/) override {
    gains += seconds > 0 ? 1 : 0;
  }
  std::atomic<int> gains{0};
};

// Each says nevertheless what it would have gained, had the other device been ready.
TEST_F(EngineAgain, WhereOthersHaveYetToBuildTheProgramLaunchesRepeat) {
  start({kSharesHost, kSharesHost}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(1), out = buffer(0);
  const auto known =
      known_kernel<BuiltOnOne>(KernelForm::kMap, in, out, 60e-6,
                               [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
  for (int run = 0; run < 10; ++run) set->model().add(model_key(known), 1, kBytes, 1e-9);
  const auto kernel = std::static_pointer_cast<BuiltOnOne>(known.kernel);
  launch_until_again(*stream, kernel, in, out);
  const int before = kernel->gains;
  int again = 0;
  for (uint32_t round = 0; round < 20; ++round) again += launch(*stream, kernel, in, out, round);
  EXPECT_GT(again, 10);
  EXPECT_EQ(kernel->gains - before, 20);
  EXPECT_EQ(read(*stream, out), mapped(1, 1));
}

TEST_F(EngineAgain, SmallLaunchesLeaveTheirArgumentsToTheApplication) {
  start({kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  auto in = buffer(1), out = buffer(0);
  const auto a = kernel();
  std::vector<std::weak_ptr<const ArgumentSet>> arguments(600);
  int again = 0;
  for (uint32_t c = 0; c < 600; ++c) again += launch(*stream, a, in, out, c, &arguments[c]);
  EXPECT_GT(again, 500);
  // Some begin a command, which keeps what it was given until it ends.
  const auto kept = std::count_if(arguments.begin(), arguments.end(),
                                  [](const auto& one) { return !one.expired(); });
  EXPECT_LT(kept, 60);
  EXPECT_EQ(read(*stream, out), mapped(1, 599));
  // All of it goes with the command.
  ASSERT_TRUE(engine->finish(*stream));
  EXPECT_TRUE(std::all_of(arguments.begin(), arguments.end(),
                          [](const auto& one) { return one.expired(); }));
}

TEST_F(EngineAgain, ASmallLaunchThatFailsHasChangedNothing) {
  start({kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto a = kernel();
  EnqueueOptions options;
  options.type = CL_COMMAND_NDRANGE_KERNEL;
  options.observed = false;
  const auto in = buffer(1), out = buffer(0), second = buffer(0);
  for (const auto& one : {in, second}) ASSERT_TRUE(one->make_valid(1, 0, kBytes));
  for (uint32_t c = 0; c < 5; ++c) launch(*stream, a, in, out, c);
  // It would have been like those, but for its buffers, and so would what follows.
  KernelWork work = map_kernel(in, second, 10);
  work.kernel = a;
  fakes[0]->refuse_launches = 1;
  EXPECT_FALSE(engine->enqueue(*stream, KernelWork(work), options));
  EXPECT_TRUE(second->valid_at(kHostPlace, 0, kBytes));
  ASSERT_TRUE(engine->enqueue(*stream, KernelWork(work), options));
  EXPECT_FALSE(second->valid_at(kHostPlace, 0, kBytes));
  EXPECT_EQ(read(*stream, second), mapped(1, 10));
  EXPECT_EQ(read(*stream, out), mapped(1, 4));
  // One that repeats another.
  for (uint32_t c = 0; c < 5; ++c) launch(*stream, a, in, out, c);
  fakes[0]->refuse_launches = 1;
  work = map_kernel(in, out, 20);
  work.kernel = a;
  EXPECT_FALSE(launch_again(*engine, *stream, work));
  EXPECT_EQ(fakes[0]->refuse_launches, 0);
  EXPECT_EQ(read(*stream, out), mapped(1, 4));
  for (uint32_t c = 0; c < 5; ++c) launch(*stream, a, in, out, c + 30);
  EXPECT_EQ(read(*stream, out), mapped(1, 34));
}

TEST_F(EngineAgain, WhatIsWaitedForMayBeRepeated) {
  start({kCostlyTimes, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({}), other = engine->create_stream({});
  const auto a = kernel();
  const auto in = buffer(1), out = buffer(0);
  int again = 0;
  for (uint32_t c = 0; again <= 40 && c < kMany; ++c) {
    again += launch(*stream, a, in, out, c);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_TRUE(engine->finish(*stream));
    if (c % 20 != 19) continue;
    // Others find its buffers free, and what they have changed is seen.
    const std::vector<std::byte> content(kBytes, static_cast<std::byte>(c));
    auto written = enqueue(*other, WriteWork{whole(in), 0, kBytes, content.data()});
    ASSERT_TRUE(written);
    Command* waited = written->get();
    EXPECT_TRUE(engine->wait({&waited, 1}));
    launch(*stream, a, in, out, c);
    EXPECT_EQ(read(*other, out), mapped(c, c));
  }
  EXPECT_GT(again, 40);
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineAgain, OnlyWhatHasEndedWellRests) {
  start({kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto a = kernel();
  const auto in = buffer(1), out = buffer(0);
  std::atomic<bool> done{false};
  // Launches while another thread waits for those before them.
  std::thread waits([&] {
    while (!done) {
      EXPECT_TRUE(engine->finish(*stream));
    }
  });
  for (uint32_t c = 0; c < 600; ++c) {
    launch(*stream, a, in, out, c);
    if (c % 100 != 99) continue;
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, out), mapped(1, c));
  }
  done = true;
  waits.join();
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineAgain, WhatRestsKeepsNothingThatIsReleased) {
  start({kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto a = kernel();
  const auto in = buffer(1);
  const auto launch_and_drop = [&](bool before) {
    auto out = buffer(0);
    auto owner = std::make_shared<int>();
    const std::weak_ptr<int> alive = owner;
    out->owner = std::move(owner);
    for (uint32_t c = 0; c < 5; ++c) {
      launch(*stream, a, in, out, c);
      if (!before) {
        EXPECT_TRUE(engine->finish(*stream));
      }
    }
    out = nullptr;
    EXPECT_FALSE(alive.expired());
    engine->released();
    if (before) {
      EXPECT_FALSE(alive.expired());
      EXPECT_TRUE(engine->finish(*stream));
    }
    EXPECT_TRUE(alive.expired());
  };
  for (const bool before : {false, true, false, true}) launch_and_drop(before);
  // Nor does a queue that is given up.
  auto out = buffer(0);
  auto owner = std::make_shared<int>();
  const std::weak_ptr<int> alive = owner;
  out->owner = std::move(owner);
  launch(*stream, a, in, out, 1);
  EXPECT_TRUE(engine->finish(*stream));
  out = nullptr;
  engine->abandon(*stream);
  EXPECT_TRUE(alive.expired());
}

TEST_F(EngineAgain, SmallReadsGoBehindWhatTheyRead) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kCostlyTimes},
                                                         {kCostlyTimes, kOwnMemory},
                                                         {kOwnMemory, kSharesHost},
                                                         {kSharesHost, kSharesHost}}) {
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({}), other = engine->create_stream({});
    const auto a = kernel();
    const auto in = buffer(1), out = buffer(0), elsewhere = buffer(9);
    int again = 0;
    for (uint32_t c = 0; again <= 40 && c < kMany; ++c) {
      again += launch(*stream, a, in, out, c);
      EXPECT_EQ(read(*stream, out), mapped(1, c)) << devices;
      EXPECT_EQ(read(*stream, out), mapped(1, c)) << devices;
    }
    EXPECT_GT(again, 40) << devices;
    // What lies elsewhere comes from there, and what others have written is looked at.
    launch(*stream, a, in, out, 70);
    EXPECT_EQ(read(*stream, elsewhere), filled(9)) << devices;
    EXPECT_EQ(read(*stream, out), mapped(1, 70)) << devices;
    const auto content = filled(5);
    for (uint32_t c = 0; c < 20; ++c) {
      launch(*stream, a, in, out, c);
      EXPECT_EQ(read(*stream, out), mapped(c < 4 ? 1 : 5, c)) << devices;
      if (c % 4 != 3) continue;
      ASSERT_TRUE(enqueue(*other, WriteWork{whole(in), 0, kBytes, content.data()}, {}, true));
      EXPECT_FALSE(launch(*stream, a, in, out, c)) << devices;
    }
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineAgain, SmallReadsOfSeveralThreads) {
  start({kCostlyTimes, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto a = kernel();
  const auto in = buffer(1), out = buffer(0);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (const bool finishes : {false, true}) {
    readers.emplace_back([&, finishes] {
      while (!done) {
        EXPECT_EQ(read(*stream, in), filled(1));
        if (finishes) {
          EXPECT_TRUE(engine->finish(*stream));
        }
      }
    });
  }
  for (uint32_t c = 0; c < 400; ++c) {
    launch(*stream, a, in, out, c);
    if (c % 3 != 0) continue;
    EXPECT_EQ(read(*stream, out), mapped(1, c));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read(*stream, out), mapped(1, 399));
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineAgain, WhatHasAnEventIsOverWhenItIsRead) {
  start({kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  const auto in = buffer(1), out = buffer(0);
  for (uint32_t c = 0; c < 50; ++c) {
    const auto launched = enqueue(*stream, map_kernel(in, out, c));
    ASSERT_TRUE(launched);
    EXPECT_EQ(read(*stream, out), mapped(1, c));
    EXPECT_EQ((*launched)->status(), CL_COMPLETE);
    // Nothing else holds it: an application may go on like this for ever.
    EXPECT_EQ((*launched)->references(), 1u);
  }
}

// How often a kernel is measured goes by its own launches, however many others come in between.
TEST_F(EngineAgain, LaunchesOfOneKernelSayNothingOfOthers) {
  start({kOwnMemory}, SplitMode::kNever);
  const auto in = buffer(1), out = buffer(0);
  const auto of = [&](const std::shared_ptr<LaunchableKernel>& launched) {
    KernelWork work = map_kernel(in, out, 1);
    work.kernel = launched;
    return work;
  };
  const KernelWork a = of(kernel()), b = of(kernel());
  LaunchBatch batch(nullptr);
  std::shared_ptr<const void> replaced;
  const auto plan = std::make_shared<const KernelPlan>();
  EXPECT_EQ(batch.unplanned(a), 0u);
  batch.kind_of(a, plan, 100, true, replaced);
  batch.kind_of(b, plan, 3, true, replaced);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(batch.planned_before(a, a));
    EXPECT_TRUE(batch.planned_before(a, b));
  }
  EXPECT_TRUE(batch.planned_before(a, a));
  EXPECT_EQ(batch.unplanned(a), 4u);
  EXPECT_EQ(batch.unplanned(b), 3u);
  EXPECT_FALSE(batch.planned_before(a, b));
  batch.kind_of(b, plan, 3, true, replaced);
  EXPECT_EQ(batch.unplanned(b), 0u);
  EXPECT_EQ(batch.unplanned(a), 4u);
}

TEST_F(EngineAgain, WhatNobodyAsksForDoesNotPileUp) {
  start({kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  const auto in = buffer(1), out = buffer(0);
  const auto a = kernel();
  std::deque<std::weak_ptr<const ArgumentSet>> alive;
  size_t most = 0;
  for (uint32_t c = 0; c < 3000; ++c) {
    KernelWork work = map_kernel(in, out, c);
    work.kernel = a;
    work.shape.global[0] = kGroup;  // short ones are measured rarely
    alive.push_back(work.arguments);
    ASSERT_TRUE(enqueue(*stream, std::move(work)));  // its event is released at once
    // The device is done, and the engine does not know.
    stream->queues.visit([](backends::Queue& queue) { EXPECT_TRUE(queue.finish()); });
    std::erase_if(alive, [](const auto& arguments) { return arguments.expired(); });
    most = std::max(most, alive.size());
  }
  EXPECT_LT(most, 100);
  EXPECT_EQ(read(*stream, out), with_group(filled(0), 0, 1 * 3 + 2999 % 256));
}

TEST_F(EngineAgain, OthersWaitForWhatIsBeingLaunched) {
  start({kCostlyTimes, kOwnMemory}, SplitMode::kNever);
  // Each thread has a stream and a buffer; all read one buffer, which one thread reads back and
  // asks about meanwhile.
  const auto in = buffer(1);
  std::atomic<bool> done{false};
  std::thread asks([&] {
    auto stream = engine->create_stream({});
    while (!done) {
      EXPECT_EQ(read(*stream, in), filled(1));
      EXPECT_TRUE(engine->finish(*stream));
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      auto stream = engine->create_stream({});
      const auto a = kernel(), b = kernel();
      const auto out = buffer(0), second = buffer(0);
      for (uint32_t c = 0; c < 300; ++c) {
        launch(*stream, a, in, out, c + number);
        if (c % 3 == 0) launch(*stream, b, out, second, c);
        if (c % 50 != 49) continue;
        EXPECT_EQ(read(*stream, out), mapped(1, c + number));
      }
      EXPECT_EQ(read(*stream, second), mapped(3 + 297 + number, 297));
    });
  }
  for (auto& thread : threads) thread.join();
  done = true;
  asks.join();
}

}  // namespace
}  // namespace tutti::testing
