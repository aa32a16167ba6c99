// SPDX-License-Identifier: Apache-2.0
// A stream and its vendor queues, without an engine.
#include "scheduler/order/stream.h"

#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class StreamTest : public LogTest {
 protected:
  enum : uint32_t { kGpu, kCpu };
  FakeBackend& gpu = add_device(kCostlyTimes);
  FakeBackend& cpu = add_device(kSharesHost);
};

TEST_F(StreamTest, RunsOnAllRealDevicesUnlessItIsToldWhere) {
  EXPECT_EQ(stream({})->options().backends, backend_bit(kGpu) | backend_bit(kCpu));
  EXPECT_EQ(stream({.backends = backend_bit(kCpu)})->options().backends, backend_bit(kCpu));
}

TEST_F(StreamTest, EachHasANumberOfItsOwn) {
  const auto first = stream({}), second = stream({});
  EXPECT_NE(first->number(), 0u);
  EXPECT_EQ(second->number(), first->number() + 1);
}

TEST_F(StreamTest, ItsOrderHoldsBackLaunchesOnlyWhereItsTimesMustNotOverlap) {
  for (const bool out_of_order : {false, true}) {
    for (const bool profiling : {false, true}) {
      const auto one = stream({.out_of_order = out_of_order, .profiling = profiling});
      one->expected_end_ns = 1000;
      EXPECT_EQ(one->held_until_ns(), profiling && !out_of_order ? 1000u : 0u);
    }
  }
}

TEST_F(StreamTest, QueuesAreMadeAtFirstUseAndOnceEach) {
  const auto one = stream({});
  const auto existing = [&](auto... backend) {
    int count = 0;
    one->queues.visit(backend..., [&](backends::Queue&) { ++count; });
    return count;
  };
  EXPECT_EQ(existing(), 0);
  const auto plain = one->queues.queue(kGpu, false), measuring = one->queues.queue(kGpu, true);
  ASSERT_TRUE(plain);
  ASSERT_TRUE(measuring);
  EXPECT_NE(*plain, *measuring);
  EXPECT_EQ(*one->queues.queue(kGpu, false), *plain);
  EXPECT_EQ(existing(kGpu), 2);
  EXPECT_EQ(existing(kCpu), 0);
}

TEST_F(StreamTest, WhereMeasuringCostsNothingThereIsOneQueue) {
  const auto one = stream({}), timed = stream({.profiling = true});
  EXPECT_EQ(*one->queues.queue(kCpu, false), *one->queues.queue(kCpu, true));
  EXPECT_EQ(*timed->queues.queue(kGpu, false), *timed->queues.queue(kGpu, true));
}

TEST_F(StreamTest, OnTheOtherQueueACommandWaitsForWhatTheFirstGot) {
  const auto one = stream({});
  const auto first = one->queues.next_turn(kGpu, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->after, nullptr);
  const backends::CompletionPtr newest = *first->queue->mark({}, true);
  one->queues.submitted(kGpu, *first, newest);
  EXPECT_EQ(one->queues.next_turn(kGpu, false)->after, nullptr);
  const auto second = one->queues.next_turn(kGpu, true);
  ASSERT_TRUE(second);
  EXPECT_NE(second->queue, first->queue);
  EXPECT_EQ(second->after, newest);
  one->queues.submitted(kGpu, *second, *second->queue->mark({}, true));
  EXPECT_EQ(one->queues.next_turn(kGpu, true)->after, nullptr);
  EXPECT_TRUE((*first->queue).finish());
  EXPECT_TRUE((*second->queue).finish());
}

}  // namespace
}  // namespace tutti::testing
