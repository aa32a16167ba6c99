// SPDX-License-Identifier: Apache-2.0
// Launches that fail in a vendor's queue, and those behind them there that have used what they
// should have written: all are computed anew, or the application is told.
#include <atomic>
#include <string>
#include <vector>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

/// A launch from one buffer to another, by their numbers.
struct Launch {
  size_t in, out;
  KernelForm form = KernelForm::kMap;
};

class ReExecutionTest : public EngineTest {
 protected:
  static constexpr size_t kBuffers = 5;

  /// Gives the launches to one queue, of which the first `failing` fail; `computes`:
  /// after they have computed. Reads all buffers. True: all bytes are right, and no event has
  /// failed. False: somebody was told. Wrong bytes that nobody was told of fail the test.
  bool computes_right(const FakeKinds& devices, const std::vector<Launch>& launches, int failing,
                      bool computes) {
    start(devices, SplitMode::kNever);
    const auto stream = engine->create_stream({});
    std::vector<Ref<LogicalBuffer>> buffers;
    std::vector<std::vector<std::byte>> expected;
    for (size_t i = 0; i < kBuffers; ++i) {
      buffers.push_back(buffer(static_cast<uint8_t>(2 * i + 3)));
      expected.push_back(filled(static_cast<uint8_t>(2 * i + 3)));
    }
    // All are in the vendor's queue before the first one ends.
    std::atomic<bool> all{false};
    std::atomic<int> left{failing};
    for (auto* fake : fakes) {
      fake->fate = [&](FakeCall call) -> FakeFate {
        if (call != FakeCall::kLaunch) return {};
        FakeFate fate{.before = [&] { all.wait(false); }};
        if (left.fetch_sub(1) > 0) {
          fate.result = CL_OUT_OF_RESOURCES;
          fate.done = computes ? 1 : 0;
        }
        return fate;
      };
    }
    std::vector<Ref<Command>> commands;
    for (const Launch& launch : launches) {
      KernelWork work = map_kernel(buffers[launch.in], buffers[launch.out], 1);
      work.kernel = fake_kernel(launch.form, set->count());
      auto command = enqueue(*stream, work);
      EXPECT_TRUE(command);
      if (command) commands.push_back(*command);
      const auto in = expected[launch.in];
      for (uint32_t i = 0; i < kBytes; ++i) {
        apply(launch.form, in.data(), expected[launch.out].data(), i, kBytes, 1);
      }
    }
    all = true;
    all.notify_all();
    bool right = true;
    for (size_t i = kBuffers; i-- > 0;) {
      std::vector<std::byte> bytes(kBytes);
      const auto command =
          enqueue(*stream, ReadWork{whole(buffers[i]), 0, kBytes, bytes.data()}, {}, true);
      const bool well = command && (*command)->status() == CL_COMPLETE;
      if (well) {
        EXPECT_EQ(bytes, expected[i]) << "buffer " << i;
      }
      right = right && well;
    }
    static_cast<void>(engine->finish(*stream));
    for (const auto& command : commands) right = right && command->status() == CL_COMPLETE;
    engine.reset();
    return right;
  }

  inline static const std::vector<FakeKinds> kDevices = {{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}};
};

TEST_F(ReExecutionTest, WhatHasUsedTheResult) {
  for (const FakeKinds& devices : kDevices) {
    for (const bool computes : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (computes ? ", computes" : ""));
      EXPECT_TRUE(computes_right(devices, {{0, 1}, {1, 2}, {2, 3, KernelForm::kGather}, {1, 4}}, 1,
                                 computes));
      // What it needs is overwritten by a later one, but comes anew, too.
      EXPECT_TRUE(computes_right(devices, {{0, 1}, {1, 2}, {3, 1}, {1, 4}}, 1, computes));
    }
  }
}

// One behind the first that fails has failed, too, which is not known yet, and what is carried out
// anew uses the results of both.
TEST_F(ReExecutionTest, WhatHasUsedTheResultsOfSeveral) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(devices);
    EXPECT_TRUE(computes_right(devices, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}}, 2, false));
  }
}

// Of two that have failed the second one's result has been used by one that ended well itself.
TEST_F(ReExecutionTest, WhatEndsWellMayHaveUsedWhatHasFailed) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(devices);
    EXPECT_TRUE(computes_right(devices, {{0, 1}, {0, 2}, {2, 3}, {1, 4}, {3, 4}}, 2, false));
  }
}

TEST_F(ReExecutionTest, WhatItNeedsIsOverwritten) {
  EXPECT_FALSE(computes_right({kSharesHost, kSharesHost}, {{0, 1}, {1, 0}, {0, 2}}, 1, false));
  // The host's copy has it still.
  EXPECT_TRUE(computes_right({kCostlyTimes, kCostlyTimes}, {{0, 1}, {1, 0}, {0, 2}}, 1, false));
}

// What was read of failed content has been written to another buffer.
TEST_F(ReExecutionTest, WhatHasGoneThroughTheApplicationsMemory) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kNever);
    const auto stream = engine->create_stream({});
    auto a = buffer(2), b = buffer(5), c = buffer(8);
    for (auto* fake : fakes) fake->fail_launches = 1;
    std::vector<std::byte> between(kBytes), bytes(kBytes);
    const Result<Ref<Command>> commands[] = {
        enqueue(*stream, map_kernel(a, b, 1)),
        enqueue(*stream, ReadWork{whole(b), 0, kBytes, between.data()}),
        enqueue(*stream, WriteWork{whole(c), 0, kBytes, between.data()}),
        enqueue(*stream, ReadWork{whole(c), 0, kBytes, bytes.data()}, {}, true)};
    bool well = engine->finish(*stream).has_value();
    for (const auto& command : commands) well &= command && (*command)->status() == CL_COMPLETE;
    if (well) {
      EXPECT_EQ(bytes, filled(7));
    }
    engine.reset();
  }
}

// A queue says that something in it was called off, which not everything was.
TEST_F(ReExecutionTest, WhatAQueueSaysOfAllIsNotKnownOfOne) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kNever);
    std::atomic<bool> told{false};
    for (auto* fake : fakes) {
      fake->fate = [&told](FakeCall call) -> FakeFate {
        if (call != FakeCall::kFinish || told.exchange(true)) return {};
        return {.refused = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
      };
    }
    const auto stream = engine->create_stream({});
    auto a = buffer(5);
    EnqueueOptions options;
    options.type = CL_COMMAND_NDRANGE_KERNEL;
    options.observed = false;
    ASSERT_TRUE(engine->enqueue(*stream, map_kernel(a, a, 1), options));
    static_cast<void>(engine->finish(*stream));
    EXPECT_TRUE(told);
    std::vector<std::byte> bytes(kBytes);
    const auto read = enqueue(*stream, ReadWork{whole(a), 0, kBytes, bytes.data()}, {}, true);
    if (read && (*read)->status() == CL_COMPLETE) {
      EXPECT_EQ(bytes, filled(16));
    }
    engine.reset();
  }
}

// It has written, of what had failed, where it would not write now.
TEST_F(ReExecutionTest, WhatWasWrittenOfFailedContentMayStay) {
  const std::vector<Launch> launches{{0, 1}, {1, 2, KernelForm::kSparse}};
  EXPECT_FALSE(computes_right({kSharesHost, kSharesHost}, launches, 1, false));
  // What was there before is taken from the host's copy.
  EXPECT_TRUE(computes_right({kCostlyTimes, kCostlyTimes}, launches, 1, false));
}

}  // namespace
}  // namespace tutti::testing
