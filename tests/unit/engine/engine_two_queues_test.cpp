// SPDX-License-Identifier: Apache-2.0
// Queues of one device that wait for each other in each step: their launches go on repeating, find
// what the other queue has computed, and hear of what has failed there.
#include <atomic>
#include <latch>

#include "batch_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineTwoQueues : public BatchTest {
 protected:
  /// Of what the stream has so far.
  Ref<Command> marker(Stream& stream) { return *enqueue(stream, MarkerWork{}); }
  /// What the stream gets from now on comes after `command`. Nobody observes it.
  void wait_in(Stream& stream, const Ref<Command>& command) {
    Command* const named = command.get();
    EnqueueOptions options;
    options.type = CL_COMMAND_BARRIER;
    options.observed = false;
    options.barrier = options.waits_for_all = true;
    options.wait_list = {&named, 1};
    EXPECT_TRUE(engine->enqueue(stream, MarkerWork{}, options));
  }
  /// As launch(), but nobody observes it.
  void launch_unseen(Stream& stream, const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                     uint32_t c) {
    KernelWork work = map_kernel(in, out, c);
    work.kernel = kernel_;
    if (launch_again(*engine, stream, work)) {
      ++again;
      return;
    }
    EnqueueOptions options;
    options.type = CL_COMMAND_NDRANGE_KERNEL;
    options.observed = false;
    EXPECT_TRUE(engine->enqueue(stream, std::move(work), options));
  }
};

TEST_F(EngineTwoQueues, LaunchesOfBothRepeat) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kCostlyTimes, kOwnMemory}}) {
    SCOPED_TRACE(to_string(devices));
    auto a = begin(devices), b = engine->create_stream({});
    const auto in = buffer(1), first = buffer(0), second = buffer(0), last = buffer(0);
    for (uint32_t c = 0; c < 10; ++c) ASSERT_TRUE(wait(launch(*a, in, last, c)));
    again = 0;
    for (uint32_t c = 0; c < 200; ++c) {
      launch_unseen(*a, in, first, c);
      wait_in(*b, marker(*a));
      launch_unseen(*b, first, second, 1);
      launch_unseen(*b, second, second, 2);
      const auto half = marker(*b);
      launch_unseen(*a, in, last, 5);  // which nothing of the other queue is about
      wait_in(*a, half);
      launch_unseen(*a, second, last, 3);
      std::vector<std::byte> bytes(kBytes);
      auto event = enqueue(*a, ReadWork{whole(last), 0, kBytes, bytes.data()});
      ASSERT_TRUE(event);
      ASSERT_TRUE(wait(*event));
      const auto expected = static_cast<uint8_t>((((3 + c) * 3 + 1) * 3 + 2) * 3 + 3);
      ASSERT_EQ(bytes, filled(expected)) << c;
    }
    EXPECT_GT(again, 700);  // of 1000
    EXPECT_TRUE(engine->finish(*b));
    EXPECT_TRUE(engine->finish(*a));
  }
}

// The one queue is held up: what the other has been told to wait for has not been computed yet.
TEST_F(EngineTwoQueues, WhatIsNamedIsWaitedFor) {
  auto a = begin({kOwnMemory}), b = engine->create_stream({});
  const auto in = buffer(1), middle = buffer(0), out = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) {
    ASSERT_TRUE(wait(launch(*a, in, middle, c)));
    ASSERT_TRUE(wait(launch(*b, middle, out, c)));
  }
  std::latch held(1);
  bool first = true;
  before_each_ = [&] {
    if (std::exchange(first, false)) held.wait();
  };
  launch_unseen(*a, in, middle, 50);
  wait_in(*b, marker(*a));
  const auto behind = launch(*b, middle, out, 7);
  EXPECT_GT(behind->status(), CL_COMPLETE);
  held.count_down();
  ASSERT_TRUE(wait(behind));
  EXPECT_EQ(read(*b, out), filled(static_cast<uint8_t>((3 + 50) * 3 + 7)));
}

// Nobody asks the queue in which it has failed.
TEST_F(EngineTwoQueues, FailuresReachTheOther) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    for (const bool observed : {true, false}) {
      SCOPED_TRACE(to_string(devices) + (observed ? ", observed" : ""));
      auto a = begin(devices), b = engine->create_stream({});
      const auto in = buffer(1), middle = buffer(0), out = buffer(0);
      for (uint32_t c = 0; c < 20; ++c) {
        ASSERT_TRUE(wait(launch(*a, in, middle, c)));
        wait_in(*b, marker(*a));
        ASSERT_TRUE(wait(launch(*b, middle, out, c)));
      }
      // What follows it in its queue fails, too.
      std::atomic<bool> failed_once{false};
      fakes[0]->fate = [&](FakeCall call) {
        const bool fails = call == FakeCall::kLaunch && !failed_once.exchange(true);
        return fails ? FakeFate{.result = CL_OUT_OF_RESOURCES} : FakeFate{};
      };
      launch_unseen(*a, in, middle, 50);
      wait_in(*b, marker(*a));
      if (observed) {
        launch(*b, middle, out, 51);
      } else {
        launch_unseen(*b, middle, out, 51);
      }
      std::vector<std::byte> bytes(kBytes);
      const auto failed = enqueue(*b, ReadWork{whole(out), 0, kBytes, bytes.data()}, {}, true);
      EXPECT_FALSE(failed);
    }
  }
}

// A wait for what is on another device is none that a vendor's queue could keep.
TEST_F(EngineTwoQueues, WhatAnotherDeviceHasIsWaitedForElsewhere) {
  begin({kOwnMemory, kCostlyTimes});
  auto a = engine->create_stream({.backends = 1}), b = engine->create_stream({.backends = 2});
  const auto in = buffer(1), middle = buffer(0), out = buffer(0);
  for (uint32_t c = 0; c < 50; ++c) {
    launch(*a, in, middle, c);
    wait_in(*b, marker(*a));
    launch(*b, middle, out, 2);
    wait_in(*a, marker(*b));
    launch(*a, out, middle, 1);
    ASSERT_EQ(read(*a, middle), filled(static_cast<uint8_t>(((3 + c) * 3 + 2) * 3 + 1))) << c;
  }
}

// Content that one queue is bringing to the device is there for the other only once it has come.
TEST_F(EngineTwoQueues, ContentOnItsWayIsWaitedFor) {
  auto a = begin({kOwnMemory}), b = engine->create_stream({});
  const auto in = buffer(1), out = buffer(0), other = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) {
    ASSERT_TRUE(wait(launch(*a, in, out, c)));
    ASSERT_TRUE(wait(launch(*b, in, other, c)));
  }
  const std::vector<std::byte> content(kBytes, std::byte{9});
  std::latch held(1);
  bool first = true;
  before_each_ = [&] {
    if (std::exchange(first, false)) held.wait();
  };
  const auto fresh = buffer(9);  // in the host's copy
  launch(*a, in, out, 1);        // which the content comes behind
  launch(*a, fresh, out, 2);
  const auto behind = launch(*b, fresh, other, 3);
  EXPECT_GT(behind->status(), CL_COMPLETE);
  held.count_down();
  ASSERT_TRUE(wait(behind));
  EXPECT_EQ(read(*b, other), mapped(9, 3));
}

}  // namespace
}  // namespace tutti::testing
