// SPDX-License-Identifier: Apache-2.0
// What joins a batch and is observed nevertheless: what their events
// tell, who waits for them, and what they compute.
#include <atomic>
#include <deque>
#include <latch>
#include <thread>

#include "base/clock.h"
#include "batch_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineBatchEvent : public BatchTest {};

TEST_F(EngineBatchEvent, LaunchesWithEventsRepeat) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kCostlyTimes, kOwnMemory}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    std::vector<Ref<Command>> events;
    for (uint32_t c = 0; c < 200; ++c) events.push_back(launch(*stream, in, out, c));
    EXPECT_GT(again, 150) << devices;
    EXPECT_TRUE(wait(events[100]));
    for (uint32_t c = 0; c <= 100; ++c) EXPECT_EQ(events[c]->status(), CL_COMPLETE) << c;
    EXPECT_TRUE(engine->finish(*stream));
    for (const auto& event : events) {
      EXPECT_EQ(event->status(), CL_COMPLETE);
      EXPECT_EQ(event->references(), 1u);  // nothing but the application keeps it
    }
    EXPECT_EQ(read(*stream, out), mapped(1, 199)) << devices;
  }
}

TEST_F(EngineBatchEvent, NobodyHasToAskThemForWhatHasFailed) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    for (const bool finishes : {true, false}) {
      SCOPED_TRACE(to_string(devices) + (finishes ? ", finished" : ", read"));
      auto stream = begin(devices);
      const auto in = buffer(1), out = buffer(0), far = buffer(7);
      for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
      ASSERT_GT(again, 10);
      fakes[0]->fail_launches = 1;
      launch(*stream, in, out, 50);
      launch(*stream, in, far, 51);
      launch(*stream, in, far, 52);
      if (finishes) static_cast<void>(engine->finish(*stream));
      std::vector<std::byte> bytes(kBytes);
      const auto failed = enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()}, {}, true);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, CL_OUT_OF_RESOURCES);
    }
  }
}

// What they have read had failed, which the batch is told where it ends before they are asked.
TEST_F(EngineBatchEvent, TheyFailWithABatchThatHasEnded) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kHostAtomics}, {kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    SCOPED_TRACE(devices);
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0), far = buffer(7);
    fakes[0]->fail_launches = 1;
    auto failing = enqueue(
        *stream, known_kernel(KernelForm::kMap, in, out, 1,
                              [](const FakeItem& item) { run_item(KernelForm::kMap, item); }));
    ASSERT_TRUE(failing);
    std::vector<Ref<Command>> events;
    for (uint32_t c = 0; c < 6; ++c) events.push_back(launch(*stream, out, far, c));
    std::vector<std::byte> bytes(64);
    auto last = enqueue(*stream, ReadWork{whole(far), 0, bytes.size(), bytes.data()});
    static_cast<void>(engine->finish(*stream));
    for (const auto& event : events) EXPECT_LT(event->status(), 0);
    EXPECT_TRUE(!last || (*last)->status() < 0);
  }
}

// Another stream's read comes behind one that has used what failed, and ends before the batch does.
TEST_F(EngineBatchEvent, WhoComesBehindThemIsTold) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kHostAtomics},
                                                         {kOwnMemory},
                                                         {kCostlyTimes},
                                                         {kSharesHost},
                                                         {kOwnMemory, kHostAtomics}}) {
    for (int failing = 0; failing < 4; ++failing) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(failing));
      auto stream = begin(devices), other = engine->create_stream({});
      const auto in = buffer(1), out = buffer(0), far = buffer(7);
      for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
      ASSERT_GT(again, 10);
      Ref<Command> last;
      std::vector<std::byte> expected = mapped(1, 19);
      for (int i = 0; i < 5; ++i) {
        if (i == failing) fakes[0]->fail_launches = 1;
        last = i % 2 == 0 ? launch(*stream, out, far, 3) : launch(*stream, far, out, 3);
        for (std::byte& byte : expected) byte = std::byte(static_cast<int>(byte) * 3 + 3);
      }
      std::vector<std::byte> bytes(kBytes);
      auto read = enqueue(*other, ReadWork{whole(far), 0, kBytes, bytes.data()}, {last.get()});
      launch(*stream, in, out, 1);
      static_cast<void>(engine->finish(*other));
      EXPECT_TRUE(!read || (*read)->status() < 0 || bytes == expected);
      EXPECT_TRUE(last->status() < 0 || bytes == expected);
      static_cast<void>(engine->finish(*stream));
    }
  }
}

TEST_F(EngineBatchEvent, WaitsEndWithTheirOwnLaunch) {
  // The device is held up in the launch after the one that is waited for.
  auto stream = begin({kOwnMemory}, {}), other = engine->create_stream({});
  const auto in = buffer(1), out = buffer(0), far = buffer(7);
  for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
  std::latch held(1);
  int started = 0;
  before_each_ = [&] {
    if (++started == 2) held.wait();
  };
  const Ref<Command> first = launch(*stream, in, out, 50), second = launch(*stream, in, out, 51),
                     third = launch(*stream, in, out, 52);
  EXPECT_GT(again, 10);
  ASSERT_TRUE(wait(first));
  EXPECT_EQ(first->status(), CL_COMPLETE);
  EXPECT_GT(second->status(), CL_COMPLETE);
  // Another stream's work, a callback and a thread hear of it, each once it has ended.
  std::atomic<int> called{0};
  std::latch heard(1);
  second->add_callback(CL_COMPLETE, [&](cl_int status) {
    called = status == CL_COMPLETE ? 1 : -1;
    heard.count_down();
  });
  const auto behind =
      enqueue(*other, CopyWork{whole(out), whole(far), 0, 0, kBytes}, {third.get()});
  ASSERT_TRUE(behind);
  std::thread waits([&] { EXPECT_TRUE(wait(third)); });
  EXPECT_GT((*behind)->status(), CL_COMPLETE);
  EXPECT_EQ(called, 0);
  held.count_down();
  waits.join();
  heard.wait();
  EXPECT_EQ(called, 1);
  EXPECT_EQ(second->status(), CL_COMPLETE);
  EXPECT_EQ(read(*other, far), mapped(1, 52));
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineBatchEvent, EachThatIsWaitedForIsRepeated) {
  auto stream = begin({kCostlyTimes});
  const auto in = buffer(1), out = buffer(0);
  for (uint32_t c = 0; c < 100; ++c) {
    const Ref<Command> event = launch(*stream, in, out, c);
    if (c % 2 == 0) {
      ASSERT_TRUE(wait(event));
    } else {
      ASSERT_TRUE(engine->finish(*stream));
    }
    EXPECT_EQ(event->status(), CL_COMPLETE);
  }
  EXPECT_GT(again, 70);
  EXPECT_EQ(read(*stream, out), mapped(1, 99));
}

TEST_F(EngineBatchEvent, ReadsWithEventsLeaveTheLaunchesRepeating) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
    const int before = again;
    std::vector<std::byte> bytes(kBytes);
    for (uint32_t c = 0; c < 100; ++c) {
      launch(*stream, in, out, c);
      auto event = enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()});
      ASSERT_TRUE(event);
      launch(*stream, in, out, c + 1);
      ASSERT_TRUE(wait(*event));
      ASSERT_EQ(bytes, mapped(1, c)) << devices;
      // The memory is the application's again.
      std::fill(bytes.begin(), bytes.end(), std::byte{0x5a});
    }
    EXPECT_GT(again - before, 150) << devices;
    EXPECT_EQ(read(*stream, out), mapped(1, 100)) << devices;
  }
}

// A read that somebody asks for is told what has failed before it, which the batch alone knows.
TEST_F(EngineBatchEvent, ReadsWithEventsTellWhatHasFailedBefore) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0), far = buffer(7);
    for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
    ASSERT_GT(again, 10);
    fakes[0]->fail_launches = 1;
    launch(*stream, in, out, 50);
    launch(*stream, in, far, 51);
    std::vector<std::byte> bytes(kBytes);
    auto event = enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()});
    EXPECT_TRUE(!event || !wait(*event)) << devices;
  }
}

TEST_F(EngineBatchEvent, WaitListsOfWhatIsAheadAnyway) {
  auto stream = begin({kCostlyTimes});
  const auto in = buffer(1), out = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) launch(*stream, in, out, c);
  // Launches, writes and reads that name the one before join like those that name nothing.
  Ref<Command> last = launch(*stream, in, out, 30);
  std::deque<std::vector<std::byte>> kept;
  for (uint32_t c = 0; c < 50; ++c) {
    kept.push_back(filled(static_cast<uint8_t>(c)));
    auto written =
        enqueue(*stream, WriteWork{whole(in), 0, kBytes, kept.back().data()}, {last.get()});
    ASSERT_TRUE(written);
    KernelWork work = map_kernel(in, out, c);
    work.kernel = kernel_;
    auto launched = enqueue(*stream, std::move(work), {last.get(), written->get()});
    ASSERT_TRUE(launched);
    last = *launched;
    if (c % 7 == 3) {
      EXPECT_TRUE(node_of(**written).of_batch);
    }
    if (c % 7 != 6) continue;
    std::vector<std::byte> bytes(kBytes);
    ASSERT_TRUE(
        enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()}, {last.get()}, true));
    EXPECT_EQ(bytes, mapped(c, c));
    EXPECT_EQ(last->status(), CL_COMPLETE);
  }
  // One that waits for somebody else does wait, and one that names a failure fails.
  const Ref<Command> gate = engine->create_user_command();
  KernelWork work = map_kernel(in, out, 60);
  work.kernel = kernel_;
  auto behind = enqueue(*stream, work, {gate.get(), last.get()});
  ASSERT_TRUE(behind);
  EXPECT_GT((*behind)->status(), CL_SUBMITTED);
  EXPECT_TRUE(engine->set_user_status(*gate, -7));
  EXPECT_FALSE(wait(*behind));
  auto failed = enqueue(*stream, work, {behind->get()});
  ASSERT_TRUE(failed);
  EXPECT_FALSE(wait(*failed));
  std::vector<std::byte> bytes(kBytes);
  EXPECT_FALSE(
      enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()}, {failed->get()}, true));
  EXPECT_EQ(read(*stream, out), mapped(49, 49));
}

TEST_F(EngineBatchEvent, ThoseThatNameWhatIsAheadRepeat) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kOwnMemory, kOwnMemory}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    Ref<Command> last = launch(*stream, in, out, 0);
    for (uint32_t c = 1; c < 60; ++c) last = launch(*stream, in, out, c, {last.get()});
    EXPECT_GT(again, 40) << devices;
    EXPECT_TRUE(wait(last));
    EXPECT_EQ(read(*stream, out), mapped(1, 59)) << devices;
  }
}

TEST_F(EngineBatchEvent, ThoseThatNameWhatIsNotAheadDoNotRepeat) {
  for (const cl_int status : {CL_COMPLETE, -5}) {
    auto stream = begin({kOwnMemory});
    const auto in = buffer(1), out = buffer(0);
    for (uint32_t c = 0; c < 30; ++c) launch(*stream, in, out, c);
    EXPECT_GT(again, 10);
    const int before = again;
    const auto user = engine->create_user_command();
    const Ref<Command> waiting = launch(*stream, in, out, 50, {user.get()});
    EXPECT_EQ(again, before);
    EXPECT_GT(waiting->status(), CL_COMPLETE);
    ASSERT_TRUE(engine->set_user_status(*user, status));
    EXPECT_EQ(!!wait(waiting), status == CL_COMPLETE);
    EXPECT_EQ(waiting->status(),
              status == CL_COMPLETE ? status : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    if (status == CL_COMPLETE) continue;
    // What has failed is not ahead either.
    for (uint32_t c = 0; c < 10; ++c) launch(*stream, in, out, c);
    const int now = again;
    EXPECT_FALSE(wait(launch(*stream, in, out, 51, {user.get()})));
    EXPECT_EQ(again, now);
  }
}

TEST_F(EngineBatchEvent, LongOnesAreCommandsOfTheirOwn) {
  // Others may want to begin something behind one of them while the next one runs.
  auto stream = begin({kOwnMemory});
  const auto in = buffer(1), out = buffer(0);
  const KernelWork known = known_kernel(KernelForm::kMap, in, out, 1e-3, [](const FakeItem& item) {
    run_item(KernelForm::kMap, item);
  });
  for (int i = 0; i < 50; ++i) {
    set->model().add(model_key(known), 0, kBytes, 1e-3);
    LaunchObserver observer{CL_COMMAND_NDRANGE_KERNEL};
    ASSERT_FALSE(launch_again(*engine, *stream, known, &observer));
    ASSERT_TRUE(enqueue(*stream, known));
  }
  EXPECT_EQ(read(*stream, out), mapped(1, 1));
}

TEST_F(EngineBatchEvent, LongOnesBehindThemHoldUpNobody) {
  // Whoever wants the results of a launch with an event does not wait for a long one after it.
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}}) {
    auto stream = begin(devices, {}), other = engine->create_stream({});
    const auto in = buffer(1), out = buffer(0), in2 = buffer(2), out2 = buffer(0);
    std::latch held(1);
    int launched = 0, begun = 0;  // of the long ones; by the device
    std::atomic<int> held_one{0};
    const KernelWork known =
        known_kernel(KernelForm::kGather, in2, out2, 1e-3, [&](const FakeItem& item) {
          if (item.global_id[0] == 0 && ++begun == held_one) held.wait();
          run_item(KernelForm::kGather, item);
        });
    const auto launch_long = [&] {
      EnqueueOptions options;
      options.type = CL_COMMAND_NDRANGE_KERNEL;
      options.observed = false;
      KernelWork work = known;
      ++launched;
      if (launch_again(*engine, *stream, work)) return true;
      EXPECT_TRUE(engine->enqueue(*stream, std::move(work), options));
      return false;
    };
    for (uint32_t c = 0; c < 40; ++c) {
      launch(*stream, in, out, c);
      // At last in a batch that knows them.
      for (uint32_t i = 0; i < c % 3 || (c == 39 && i < 50); ++i) {
        if (launch_long() && c == 39) break;
      }
      set->model().add(model_key(known), 0, kBytes, 1e-3);
    }
    const Ref<Command> event = launch(*stream, in, out, 50);
    held_one = launched + 1;
    launch_long();
    std::vector<std::byte> bytes(kBytes);
    ASSERT_TRUE(
        enqueue(*other, ReadWork{whole(out), 0, kBytes, bytes.data()}, {event.get()}, true));
    EXPECT_EQ(bytes, mapped(1, 50)) << devices;
    held.count_down();
    EXPECT_EQ(read(*stream, out2), filled(2 + 1)) << devices;
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineBatchEvent, RefusedLaunchesHaveNoEvent) {
  auto stream = begin({kOwnMemory});
  const auto in = buffer(1), out = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) launch(*stream, in, out, c);
  fakes[0]->refuse_launches = 1;
  KernelWork work = map_kernel(in, out, 99);
  work.kernel = kernel_;
  LaunchObserver observer{CL_COMMAND_NDRANGE_KERNEL};
  EXPECT_FALSE(launch_again(*engine, *stream, work, &observer));
  EXPECT_FALSE(observer.command);
  EXPECT_EQ(fakes[0]->refuse_launches, 0);
  for (uint32_t c = 0; c < 5; ++c) launch(*stream, in, out, c + 30);
  EXPECT_EQ(read(*stream, out), mapped(1, 34));
}

TEST_F(EngineBatchEvent, OutOfOrderQueuesLaunchInBatches) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kSynchronous}, {kOwnMemory, kOwnMemory}}) {
    auto stream = begin(devices, {.out_of_order = true});
    const auto in = buffer(1), out = buffer(0);
    std::vector<Ref<Command>> events;
    for (uint32_t c = 0; c < 200; ++c) {
      events.push_back(launch(*stream, in, out, c));
      barrier(*stream);
    }
    EXPECT_GT(again, 150) << devices;
    EXPECT_TRUE(wait(events[100])) << devices;
    EXPECT_EQ(read(*stream, out), mapped(1, 199)) << devices;
    EXPECT_TRUE(engine->finish(*stream)) << devices;
    for (const auto& event : events) EXPECT_EQ(event->status(), CL_COMPLETE) << devices;
  }
}

TEST_F(EngineBatchEvent, WhatFollowsABarrierWaitsForTheBatchBefore) {
  for (const bool with_barrier : {false, true}) {
    auto stream = begin({kOwnMemory}, {.out_of_order = true});
    before_each_ = [] {};
    auto other = engine->create_stream({});
    const auto in = buffer(1), out = buffer(0);
    for (uint32_t c = 0; c < 20; ++c) launch(*stream, in, out, c);
    EXPECT_GT(again, 10);
    ASSERT_TRUE(engine->finish(*stream));  // nobody looks at before_each_ now
    std::latch held(1);
    before_each_ = [&] { held.wait(); };
    const auto before = launch(*stream, in, out, 20);
    if (with_barrier) barrier(*stream);
    std::atomic<bool> ran = false;
    const auto behind = *enqueue(*stream, HostWork{[&]() -> Status {
      ran = true;
      return {};
    }});
    // Such functions run one after the other, in one thread.
    ASSERT_TRUE(wait(*enqueue(*other, HostWork{[]() -> Status { return {}; }})));
    EXPECT_EQ(ran, !with_barrier);
    EXPECT_GT(before->status(), CL_COMPLETE);
    held.count_down();
    EXPECT_TRUE(wait(behind));
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(before->status(), CL_COMPLETE);
  }
}

TEST_F(EngineBatchEvent, ProfiledLaunchesRepeat) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kSynchronous}}) {
    auto stream = begin(devices, {.profiling = true});
    const auto in = buffer(1), out = buffer(0);
    std::vector<Ref<Command>> events;
    std::vector<std::pair<uint64_t, uint64_t>> calls;
    for (uint32_t c = 0; c < 100; ++c) {
      const uint64_t begun = now_ns();
      events.push_back(launch(*stream, in, out, c));
      calls.emplace_back(begun, now_ns());
      if (c % 3 == 0) {
        EXPECT_TRUE(wait(events.back()));
      }
    }
    EXPECT_GT(again, 50) << devices;
    EXPECT_TRUE(engine->finish(*stream));
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i]->status(), CL_COMPLETE) << devices;
      const CommandTimes times = events[i]->times();
      EXPECT_GE(times.queued, calls[i].first) << devices << i;
      EXPECT_LE(times.queued, calls[i].second) << devices << i;
      EXPECT_LE(times.queued, times.submitted) << devices << i;
      EXPECT_LE(times.submitted, times.started) << devices << i;
      EXPECT_LE(times.started, times.ended) << devices << i;
    }
    EXPECT_EQ(read(*stream, out), mapped(1, 99)) << devices;
  }
}

TEST_F(EngineBatchEvent, NothingKeepsTheEventsOfADeviceThatHasComputed) {
  auto stream = begin({kSynchronous});
  fakes[0]->launches_at_once = true;
  const auto in = buffer(1), out = buffer(0);
  std::vector<Ref<Command>> events;
  for (uint32_t c = 0; c < 100; ++c) events.push_back(launch(*stream, in, out, c));
  EXPECT_GT(again, 50);
  size_t kept = 0;
  for (const auto& event : events) kept += event->references() > 1 ? 1 : 0;
  EXPECT_LE(kept, 2u);  // the newest
  for (const auto& event : events) EXPECT_EQ(event->status(), CL_COMPLETE);
  EXPECT_EQ(read(*stream, out), mapped(1, 99));
}

TEST_F(EngineBatchEvent, NoTimesAreTakenThatNobodyMayAskFor) {
  auto stream = begin({kOwnMemory, kSynchronous});
  const auto in = buffer(1), out = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) {
    const auto event = launch(*stream, in, out, c);
    EXPECT_TRUE(wait(event));
    EXPECT_EQ(event->times().queued, 0u) << c;
    EXPECT_EQ(event->times().submitted, 0u) << c;
  }
}

TEST_F(EngineBatchEvent, TimesHaveTheOrderOfTheCommands) {
  // Nothing that is known of such a clock holds for long.
  auto stream = begin({kOwnMemory}, {.profiling = true});
  fakes[0]->clock_divisor = 2;
  const auto in = buffer(1), out = buffer(0), far = buffer(0);
  // The first ones of a kernel are measured, each by itself.
  for (uint32_t c = 0; c < 10; ++c) EXPECT_TRUE(wait(launch(*stream, in, out, c)));
  std::latch enqueued{1};
  before_each_ = [&] { enqueued.wait(); };
  std::vector<Ref<Command>> events{launch(*stream, in, out, 3)};
  const uint64_t begun = now_ns();
  for (int later = 0; later < 3; ++later) {
    auto copy = enqueue(*stream, CopyWork{whole(out), whole(far), 0, 0, kBytes});
    ASSERT_TRUE(copy);
    events.push_back(*copy);
    // The next one is so much later that a time of the first, read after it, would be too.
    while (now_ns() - begun < 1'000'000u << (2 * later)) {
    }
  }
  enqueued.count_down();
  EXPECT_TRUE(engine->finish(*stream));
  uint64_t last = 0;
  for (const auto& event : events) {
    EXPECT_EQ(event->status(), CL_COMPLETE);
    EXPECT_GE(event->times().ended, last);
    last = event->times().ended;
  }
}

}  // namespace
}  // namespace tutti::testing
