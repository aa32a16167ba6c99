// SPDX-License-Identifier: Apache-2.0
// The dependency graph: chains, user events, failures, callbacks, times.
#include <atomic>
#include <future>
#include <thread>

#include "base/process_exit.h"
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineOrder : public EngineTest {};

TEST_F(EngineOrder, AChainBehindAUserEventRunsWhenItIsSet) {
  start({kSharesHost, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({.out_of_order = true});
  auto gate = engine->create_user_command();
  std::atomic<int> ran{0};
  Ref<Command> last = gate;
  constexpr int kChain = 100000;  // recursion over it would overflow the stack
  for (int i = 0; i < kChain; ++i) {
    auto next = enqueue(*stream, HostWork{[&ran, i]() -> Status {
      return ran.fetch_add(1) == i ? Status() : fail(CL_INVALID_OPERATION);
    }},
                        {last.get()});
    ASSERT_TRUE(next);
    last = *next;
  }
  EXPECT_EQ(ran.load(), 0);
  EXPECT_EQ(last->status(), CL_QUEUED);
  ASSERT_TRUE(engine->set_user_status(*gate, CL_COMPLETE));
  Command* waited = last.get();
  EXPECT_TRUE(engine->wait({&waited, 1}));
  EXPECT_EQ(ran.load(), kChain);
  EXPECT_EQ(code_of(engine->set_user_status(*gate, CL_COMPLETE)), CL_INVALID_OPERATION);
}

TEST_F(EngineOrder, AFailedUserEventFailsAllThatNameItAndNothingElse) {
  start({kSharesHost, kSharesHost}, SplitMode::kForce);
  auto stream = engine->create_stream({.out_of_order = true});
  auto in = buffer(1), out = buffer(9);
  auto gate = engine->create_user_command();
  auto first = *enqueue(*stream, map_kernel(in, out, 1), {gate.get()});
  auto second = *enqueue(*stream, MarkerWork{}, {first.get()});
  auto other = *enqueue(*stream, HostWork{[]() -> Status { return {}; }});
  ASSERT_TRUE(engine->set_user_status(*gate, -42));
  Command* both[] = {first.get(), second.get()};
  EXPECT_EQ(code_of(engine->wait(both)), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(gate->status(), -42);
  EXPECT_EQ(first->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(second->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(other->status(), CL_COMPLETE);
  EXPECT_EQ(read(*stream, out), filled(9));
  // A dependency that has failed already, too.
  auto late = *enqueue(*stream, MarkerWork{}, {gate.get()});
  EXPECT_EQ(late->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  std::vector<std::byte> bytes(kBytes);
  EXPECT_EQ(enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()}, {gate.get()}, true)
                .error()
                .code,
            CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_F(EngineOrder, ABlockingReadWaitsForAUserEventSetByAnotherThread) {
  start({kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  auto in = buffer(1), out = buffer(0);
  auto gate = engine->create_user_command();
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 4), {gate.get()}));
  auto setter = std::async(std::launch::async,
                           [&] { return engine->set_user_status(*gate, CL_COMPLETE).has_value(); });
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_TRUE(setter.get());
}

TEST_F(EngineOrder, MarkersAndBarriersOfAnUnorderedStream) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({.out_of_order = true});
  auto gate = engine->create_user_command();
  auto held = *enqueue(*stream, HostWork{[]() -> Status { return {}; }}, {gate.get()});
  auto marker = *enqueue(*stream, MarkerWork{});
  auto free = *enqueue(*stream, HostWork{[]() -> Status { return {}; }});
  EnqueueOptions options;
  options.type = CL_COMMAND_BARRIER;
  options.waits_for_all = options.barrier = true;
  auto barrier = *engine->enqueue(*stream, MarkerWork{}, options);
  auto behind = *enqueue(*stream, HostWork{[]() -> Status { return {}; }});
  Command* waited = free.get();
  EXPECT_TRUE(engine->wait({&waited, 1}));
  EXPECT_GT(marker->status(), CL_COMPLETE);
  EXPECT_GT(barrier->status(), CL_COMPLETE);
  EXPECT_GT(behind->status(), CL_COMPLETE);
  ASSERT_TRUE(engine->set_user_status(*gate, CL_COMPLETE));
  EXPECT_TRUE(engine->finish(*stream));
  for (auto* command : {&held, &marker, &barrier, &behind}) {
    EXPECT_EQ((*command)->status(), CL_COMPLETE);
  }
}

TEST_F(EngineOrder, CallbacksComeOnceWithTheRightStatus) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory}, {kSharesHost, kOwnMemory}}) {
    start(devices, SplitMode::kForce);
    auto stream = engine->create_stream({});
    auto in = buffer(1), out = buffer(0);
    auto command = *enqueue(*stream, map_kernel(in, out, 1));
    std::promise<cl_int> complete, submitted;
    command->add_callback(CL_SUBMITTED, [&](cl_int status) { submitted.set_value(status); });
    command->add_callback(CL_COMPLETE, [&](cl_int status) { complete.set_value(status); });
    EXPECT_EQ(submitted.get_future().get(), CL_SUBMITTED);
    EXPECT_EQ(complete.get_future().get(), CL_COMPLETE);
    std::promise<cl_int> late;
    command->add_callback(CL_COMPLETE, [&](cl_int status) { late.set_value(status); });
    EXPECT_EQ(late.get_future().get(), CL_COMPLETE);
    EXPECT_TRUE(engine->finish(*stream));
    stream = nullptr;
    engine.reset();
  }
}

TEST_F(EngineOrder, WhatHasEndedCallsBackInTheCallingThreadWhereItsDriverDoes) {
  for (const FakeKinds& device : std::vector<FakeKinds>{{kSynchronous}, {kSharesHost}}) {
    start(device, SplitMode::kNever);
    auto stream = engine->create_stream({});
    auto in = buffer(1), out = buffer(0);
    auto command = *enqueue(*stream, map_kernel(in, out, 1));
    ASSERT_TRUE(engine->finish(*stream));
    std::promise<std::thread::id> outer, inner;
    command->add_callback(CL_COMPLETE, [&](cl_int) {
      const ApplicationCode code;
      command->add_callback(CL_COMPLETE,
                            [&](cl_int) { inner.set_value(std::this_thread::get_id()); });
      outer.set_value(std::this_thread::get_id());
    });
    const bool here = outer.get_future().get() == std::this_thread::get_id();
    EXPECT_EQ(here, set->traits(0).synchronous) << device;
    EXPECT_NE(inner.get_future().get(), std::this_thread::get_id()) << device;
    stream = nullptr;
    engine.reset();
  }
}

TEST_F(EngineOrder, TimesAreOrdered) {
  start({kSharesHost, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({.profiling = true});
  auto in = buffer(1), out = buffer(0);
  std::vector<Ref<Command>> commands;
  for (int i = 0; i < 20; ++i) {
    commands.push_back(*enqueue(*stream, map_kernel(in, out, 1)));
    commands.push_back(*enqueue(*stream, MarkerWork{}));
  }
  EXPECT_TRUE(engine->finish(*stream));
  for (const auto& command : commands) {
    const CommandTimes times = command->times();
    EXPECT_GT(times.queued, 0u);
    EXPECT_LE(times.queued, times.submitted);
    EXPECT_LE(times.submitted, times.started);
    EXPECT_LE(times.started, times.ended);
  }
}

TEST_F(EngineOrder, UnorderedCommandsMayReadTheSame) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto a = engine->create_stream({}), b = engine->create_stream({});
  auto in = buffer(1), out = buffer(0), other = buffer(0);
  for (uint8_t round = 0; round < 50; ++round) {
    ASSERT_TRUE(enqueue(*a, map_kernel(in, out, round)));
    ASSERT_TRUE(enqueue(*b, map_kernel(in, other, round + 1)));
    EXPECT_TRUE(engine->finish(*a));
    EXPECT_TRUE(engine->finish(*b));
    EXPECT_EQ(read(*b, out), filled(static_cast<uint8_t>(3 + round)));
    EXPECT_EQ(read(*a, other), filled(static_cast<uint8_t>(4 + round)));
  }
}

}  // namespace
}  // namespace tutti::testing
