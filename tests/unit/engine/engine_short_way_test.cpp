// SPDX-License-Identifier: Apache-2.0
// Barriers between commands that a device has, and commands that waited for a user event: they go
// to the device's queue, in their order, without waiting for the end of what is before them there.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineShortWay : public EngineTest {
 protected:
  using Buffer = Ref<LogicalBuffer>;

  /// A launch of the map kernel, c = 1, that waits for `gate` before it does anything.
  KernelWork held(const Buffer& in, const Buffer& out, std::shared_future<void> gate) {
    return known_kernel(KernelForm::kMap, in, out, 1e-3,
                        [gate = std::move(gate)](const auto& item) {
                          gate.wait();
                          run_item(KernelForm::kMap, item);
                        });
  }
  /// One that sees whether `flag` is set.
  KernelWork seeing(const Buffer& in, const Buffer& out, const std::atomic<bool>& flag,
                    std::atomic<bool>& seen) {
    return known_kernel(KernelForm::kMap, in, out, 1e-3, [&flag, &seen](const FakeItem& item) {
      seen = flag.load();
      run_item(KernelForm::kMap, item);
    });
  }
  Result<Ref<Command>> barrier(Stream& stream, std::vector<Command*> wait = {}) {
    EnqueueOptions options;
    options.type = CL_COMMAND_BARRIER;
    options.wait_list = wait;
    options.waits_for_all = options.barrier = true;
    return engine->enqueue(stream, MarkerWork{}, options);
  }
  /// Whether `done` comes true in what is more than enough time.
  template <typename Done>
  static bool comes(const Done& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

TEST_F(EngineShortWay, BarriersBetweenLaunchesOfOneDeviceAreGivenToIt) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({.out_of_order = true});
    auto a = buffer(1), b = buffer(0), c = buffer(0), d = buffer(0);
    std::promise<void> gate;
    const auto held_by = gate.get_future().share();
    auto first = *enqueue(*stream, held(a, b, held_by));
    auto other = *enqueue(*stream, held(a, c, held_by));
    auto one = *barrier(*stream);
    auto third = *enqueue(*stream, map_kernel(b, d, 1));
    auto two = *barrier(*stream);
    auto fourth = *enqueue(*stream, map_kernel(d, b, 1));
    // Nothing has ended, and all is in the device's hands.
    for (auto* command : {&one, &third, &two, &fourth}) {
      EXPECT_EQ((*command)->status(), CL_SUBMITTED);
    }
    gate.set_value();
    Command* last = two.get();
    EXPECT_TRUE(engine->wait({&last, 1}));
    for (auto* command : {&first, &other, &one, &third}) {
      EXPECT_EQ((*command)->status(), CL_COMPLETE);
    }
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, b), filled(40));
    stream = nullptr;
  }
}

// Though a small write in between goes to the host's copy at once, before its turn.
TEST_F(EngineShortWay, AReadBehindALaunchThatOvertookNothingThatGoesOnIsGivenToTheDevice) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory, kSharesHost}, {kOwnMemory, kOwnMemory}, {kReadsAhead, kSharesHost}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(0);
    const auto content = filled(5);
    const auto slow_elsewhere = [&](KernelWork work) {
      for (int run = 0; run < 2; ++run) set->model().add(model_key(work), 1, kBytes, 1);
      return work;
    };
    std::vector<std::byte> found(kBytes);
    for (const int round : {0, 1, 2}) {
      SCOPED_TRACE(round);
      std::promise<void> gate;
      const auto held_by = gate.get_future().share();
      ASSERT_TRUE(enqueue(*stream, slow_elsewhere(held(a, b, held_by))));
      ASSERT_TRUE(enqueue(*stream, WriteWork{whole(c), 0, kBytes, content.data()}));
      auto launch = *enqueue(*stream, slow_elsewhere(held(c, b, held_by)));
      auto reading = *enqueue(*stream, ReadWork{whole(b), 0, kBytes, found.data()});
      EXPECT_EQ(launch->status(), CL_SUBMITTED);
      EXPECT_EQ(reading->status(), CL_SUBMITTED);
      gate.set_value();
      Command* last = reading.get();
      EXPECT_TRUE(engine->wait({&last, 1}));
      EXPECT_EQ(launch->status(), CL_COMPLETE);
      EXPECT_EQ(found, filled(16));
    }
    EXPECT_TRUE(engine->finish(*stream));
    stream = nullptr;
  }
}

TEST_F(EngineShortWay, ABarrierBehindTwoDevicesWaitsForBoth) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({.out_of_order = true});
  std::promise<void> gate;
  const auto held_by = gate.get_future().share();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) {
    auto in = buffer(1), out = buffer(0);
    ASSERT_TRUE(enqueue(*stream, held(in, out, held_by)));
    buffers.push_back(out);
  }
  auto end = *barrier(*stream);
  EXPECT_GT(end->status(), CL_COMPLETE);
  gate.set_value();
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(end->status(), CL_COMPLETE);
  for (const auto& out : buffers) EXPECT_EQ(read(*stream, out), filled(4));
}

TEST_F(EngineShortWay, WhatFollowsAMarkerOrBarrierBehindAnotherStreamWaitsForThat) {
  for (const bool out_of_order : {false, true}) {
    SCOPED_TRACE(out_of_order);
    start({kOwnMemory}, SplitMode::kNever);
    auto first = engine->create_stream({}), third = engine->create_stream({});
    auto second = engine->create_stream({.out_of_order = out_of_order});
    auto a = buffer(1), b = buffer(0), c = buffer(0), d = buffer(0), e = buffer(0);
    std::promise<void> gate;
    std::atomic<bool> open{false}, seen{false};
    auto before = *enqueue(*first, held(a, b, gate.get_future().share()));
    auto between = *barrier(*second, {before.get()});
    auto behind = *enqueue(*second, seeing(c, d, open, seen));
    // In what the device does for another stream meanwhile, it would have run.
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(enqueue(*third, map_kernel(e, e, 1)));
      ASSERT_TRUE(engine->finish(*third));
    }
    EXPECT_EQ(between->status(), CL_SUBMITTED);
    open = true;
    gate.set_value();
    EXPECT_TRUE(engine->finish(*second));
    EXPECT_TRUE(seen);
    EXPECT_EQ(before->status(), CL_COMPLETE);
    EXPECT_EQ(between->status(), CL_COMPLETE);
    EXPECT_EQ(behind->status(), CL_COMPLETE);
    first = second = third = nullptr;
  }
}

TEST_F(EngineShortWay, WhatWaitedForAUserEventIsGivenToTheDeviceTogether) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    for (const bool profiling : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (profiling ? ", times" : ""));
      start(devices, SplitMode::kNever);
      auto stream = engine->create_stream({.profiling = profiling});
      auto user = engine->create_user_command();
      auto a = buffer(1), b = buffer(0);
      // What buffers lack on the device is not allocated while others wait.
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
      ASSERT_TRUE(engine->finish(*stream));
      const uint64_t before = fakes[0]->launches;
      std::promise<void> gate, submitted;
      std::vector<Ref<Command>> commands;
      commands.push_back(*enqueue(*stream, held(a, b, gate.get_future().share()), {user.get()}));
      for (int i = 0; i < 200; ++i) {
        commands.push_back(*enqueue(*stream, map_kernel(b, a, 0), {user.get()}));
        commands.push_back(*enqueue(*stream, MarkerWork{}));
        commands.push_back(*enqueue(*stream, map_kernel(a, b, 0)));
      }
      commands[4]->add_callback(CL_SUBMITTED, [&](cl_int) { submitted.set_value(); });
      for (const auto& command : commands) EXPECT_EQ(command->status(), CL_QUEUED);
      ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
      // The first one has not ended.
      EXPECT_TRUE(comes([&] { return fakes[0]->launches == before + 401; }));
      EXPECT_TRUE(comes([&] { return commands.back()->status() == CL_SUBMITTED; }));
      EXPECT_EQ(submitted.get_future().wait_for(std::chrono::seconds(20)),
                std::future_status::ready);
      EXPECT_NE(commands.front()->status(), CL_COMPLETE);
      gate.set_value();
      EXPECT_TRUE(engine->finish(*stream));
      uint8_t value = 4;
      for (int i = 0; i < 400; ++i) value = static_cast<uint8_t>(value * 3);
      EXPECT_EQ(read(*stream, b), filled(value));
      for (const auto& command : commands) {
        EXPECT_EQ(command->status(), CL_COMPLETE);
        const CommandTimes times = command->times();
        EXPECT_LE(times.queued, times.submitted);
        EXPECT_LE(times.submitted, times.started);
        EXPECT_LE(times.started, times.ended);
      }
      stream = nullptr;
    }
  }
}

TEST_F(EngineShortWay, TransfersThatWaitedKeepTheirPlaceAmongLaunches) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory},
                                                         {kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kOwnMemory},
                                                         {kReadsAhead}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    auto user = engine->create_user_command();
    auto a = buffer(1), b = buffer(0), c = buffer(0);
    std::vector<std::byte> bytes(kBytes, std::byte{5}), got(kBytes);
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1), {user.get()}));  // b = 4
    ASSERT_TRUE(enqueue(*stream, CopyWork{whole(b), whole(c), 0, 0, kBytes}));
    ASSERT_TRUE(enqueue(*stream, WriteWork{whole(a), 0, kBytes / 2, bytes.data()}));
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));  // 16, 4
    ASSERT_TRUE(enqueue(*stream, map_kernel(c, a, 2)));  // 14
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(b), 0, kBytes, got.data()}));
    ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
    EXPECT_TRUE(engine->finish(*stream));
    std::vector<std::byte> half = filled(4);
    std::fill_n(half.begin(), kBytes / 2, std::byte{16});
    EXPECT_EQ(got, half);
    EXPECT_EQ(read(*stream, a), filled(14));
    EXPECT_EQ(read(*stream, c), filled(4));
    stream = nullptr;
  }
}

TEST_F(EngineShortWay, WhatADeviceRefusesFailsAloneAndShows) {
  start({kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  auto a = buffer(1), b = buffer(0);
  for (const bool throws : {false, true}) {
    SCOPED_TRACE(throws);
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    ASSERT_TRUE(engine->finish(*stream));
    auto user = engine->create_user_command();
    auto first = *enqueue(*stream, map_kernel(a, b, 2), {user.get()});
    auto second = *enqueue(*stream, map_kernel(a, b, 3));
    auto third = *enqueue(*stream, map_kernel(a, b, 4));
    (throws ? fakes[0]->throw_launches : fakes[0]->refuse_launches) = 1;
    ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
    Command* last = third.get();
    EXPECT_TRUE(engine->wait({&last, 1}));
    EXPECT_LT(first->status(), 0);
    EXPECT_EQ(second->status(), CL_COMPLETE);
    EXPECT_EQ(read(*stream, b), filled(7));
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineShortWay, AStreamThatIsGivenUpEndsWhatWaited) {
  start({kOwnMemory}, SplitMode::kNever);
  auto a = buffer(1), b = buffer(0);
  auto user = engine->create_user_command();
  auto stream = engine->create_stream({});
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
  ASSERT_TRUE(engine->finish(*stream));
  EnqueueOptions options;
  options.type = CL_COMMAND_NDRANGE_KERNEL;
  options.observed = false;
  Command* gate = user.get();
  options.wait_list = {&gate, 1};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(engine->enqueue(*stream, map_kernel(a, b, 2), options));
  engine->abandon(*stream);
  ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
  // Whatever has not ended holds its stream.
  EXPECT_TRUE(comes([&] { return stream->references() == 1; }));
}

}  // namespace
}  // namespace tutti::testing
