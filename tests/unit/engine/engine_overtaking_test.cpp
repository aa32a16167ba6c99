// SPDX-License-Identifier: Apache-2.0
// Independent commands run side by side, placed where they end first; an in-order stream shows
// nothing of that.
#include <future>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineOvertaking : public EngineTest {
 protected:
  using Buffer = Ref<LogicalBuffer>;

  /// A launch of the map kernel that is known to take `seconds` on every device, and waits for
  /// `gate` before it does anything.
  KernelWork launch(const Buffer& in, const Buffer& out, double seconds,
                    std::shared_future<void> gate = {}) {
    return known_kernel(KernelForm::kMap, in, out, seconds,
                        [gate = std::move(gate)](const FakeItem& item) {
                          if (gate.valid()) gate.wait();
                          run_item(KernelForm::kMap, item);
                        });
  }
  /// Until the device has been given launches.
  void wait_for_launches(size_t device, uint64_t count) const {
    while (fakes[device]->launches < count) std::this_thread::yield();
  }
  /// How many devices have been given launches.
  size_t devices_used() const {
    return static_cast<size_t>(std::count_if(fakes.begin(), fakes.end(),
                                             [](const auto* fake) { return fake->launches > 0; }));
  }
};

TEST_F(EngineOvertaking, AnIndependentLaunchRunsElsewhereAndIsNotDoneBefore) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    fakes.clear();
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(2), d = buffer(0), e = buffer(0);
    std::promise<void> first_may_end, second_has_ended;
    auto first = *enqueue(*stream, launch(a, b, 1, first_may_end.get_future().share()));
    auto second = *enqueue(*stream, launch(c, d, 0.1));
    // Waits for the data of the second one, and not for the first.
    auto third = *enqueue(*stream, launch(d, e, 0.1));
    const size_t other = fakes[0]->launches > 0 ? 1 : 0;
    wait_for_launches(other, 2);
    EXPECT_GT(first->status(), CL_COMPLETE);
    EXPECT_EQ(second->status(), CL_SUBMITTED);
    EXPECT_GT(third->status(), CL_COMPLETE);
    std::atomic<int> called{0};
    second->add_callback(CL_COMPLETE, [&](cl_int) {
      called = first->status() == CL_COMPLETE ? 1 : -1;
      second_has_ended.set_value();
    });
    first_may_end.set_value();
    Command* waited = third.get();
    EXPECT_TRUE(engine->wait({&waited, 1}));
    EXPECT_EQ(first->status(), CL_COMPLETE);
    EXPECT_EQ(second->status(), CL_COMPLETE);
    second_has_ended.get_future().wait();
    EXPECT_EQ(called, 1);
    EXPECT_EQ(read(*stream, b), filled(4));
    EXPECT_EQ(read(*stream, e), filled(22));
    EXPECT_TRUE(engine->finish(*stream));
    engine.reset();
  }
}

TEST_F(EngineOvertaking, WhatSharesBytesStays) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  auto a = buffer(1), b = buffer(0), c = buffer(0);
  std::promise<void> gate;
  auto first = *enqueue(*stream, launch(a, b, 0.1, gate.get_future().share()));
  auto reader = *enqueue(*stream, launch(b, c, 0.1));   // reads what the first one writes
  auto writer = *enqueue(*stream, launch(c, a, 1e-3));  // writes what the first one reads
  gate.set_value();
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, c), filled(13));
  EXPECT_EQ(read(*stream, a), filled(40));
}

TEST_F(EngineOvertaking, NothingIsRunAheadOfWhatWaitsForTheApplication) {
  start({kSharesHost, kSharesHost}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto a = buffer(1), b = buffer(0), c = buffer(2), d = buffer(9);
  auto user = engine->create_user_command();
  auto first = *enqueue(*stream, launch(a, b, 0.1), {user.get()});
  auto second = *enqueue(*stream, launch(c, d, 0.1));
  // Through another stream, which nothing holds back.
  auto other = engine->create_stream({});
  EXPECT_EQ(read(*other, d), filled(9));
  EXPECT_EQ(second->status(), CL_QUEUED);
  ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*other, d), filled(7));
}

TEST_F(EngineOvertaking, AWriteOfWhatAReadBringsComesAfterIt) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kReadsAhead}, {kOwnMemory}, {kReadsAhead, kReadsAhead}, {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    fakes.clear();
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(0), d = buffer(0);
    ASSERT_TRUE(enqueue(*stream, launch(c, d, 0.1)));
    std::promise<void> gate;
    ASSERT_TRUE(enqueue(*stream, launch(a, b, 0.1, gate.get_future().share())));
    std::vector<std::byte> between(kBytes), other(kBytes, std::byte{9});
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(b), 0, kBytes, between.data()}));
    ASSERT_TRUE(enqueue(*stream, WriteWork{whole(c), 0, kBytes / 2, between.data()}));
    ASSERT_TRUE(enqueue(*stream, WriteWork{whole(c), kBytes / 2, kBytes / 2, other.data()}));
    gate.set_value();
    std::vector<std::byte> expected(kBytes / 2, std::byte{4});
    expected.resize(kBytes, std::byte{9});
    EXPECT_EQ(read(*stream, c), expected);
    engine.reset();
  }
}

TEST_F(EngineOvertaking, StreamsWithTimesAndMarkersKeepTheirOrder) {
  for (const bool profiling : {true, false}) {
    fakes.clear();
    start({kSharesHost, kSharesHost}, SplitMode::kNever);
    auto stream = engine->create_stream({.profiling = profiling});
    auto a = buffer(1), b = buffer(0), c = buffer(2), d = buffer(0);
    std::promise<void> gate;
    auto first = *enqueue(*stream, launch(a, b, 0.1, gate.get_future().share()));
    if (!profiling) {
      ASSERT_TRUE(enqueue(*stream, MarkerWork{}));
    }
    auto second = *enqueue(*stream, launch(c, d, 0.1));
    EXPECT_LE(devices_used(), 1u);
    gate.set_value();
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, d), filled(7));
    engine.reset();
  }
}

TEST_F(EngineOvertaking, StreamsAndUnorderedLaunchesSpreadOverTheDevices) {
  for (const bool one_stream : {true, false}) {
    fakes.clear();
    start({kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kNever);
    std::promise<void> gate;
    const auto held = gate.get_future().share();
    std::vector<Ref<Stream>> streams;
    std::vector<Buffer> results;
    for (int i = 0; i < 3; ++i) {
      if (!one_stream || streams.empty()) {
        streams.push_back(engine->create_stream({.out_of_order = one_stream}));
      }
      results.push_back(buffer(0));
      ASSERT_TRUE(enqueue(*streams.back(), launch(buffer(3), results.back(), 0.1, held)));
    }
    for (size_t i = 0; i < 3; ++i) wait_for_launches(i, 1);
    gate.set_value();
    for (const auto& stream : streams) EXPECT_TRUE(engine->finish(*stream));
    for (const auto& result : results) EXPECT_EQ(read(*streams.front(), result), filled(10));
    engine.reset();
  }
}

TEST_F(EngineOvertaking, ShortLaunchesStayTogether) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  std::promise<void> gate;
  const auto held = gate.get_future().share();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(enqueue(*stream, launch(buffer(1), buffer(0), 10e-6, held)));
  }
  EXPECT_EQ(devices_used(), 1u);
  gate.set_value();
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineOvertaking, ARefusedLaunchAheadFailsNobody) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  auto a = buffer(1), b = buffer(0), c = buffer(2), d = buffer(0);
  std::promise<void> gate;
  auto first = *enqueue(*stream, launch(a, b, 0.1, gate.get_future().share()));
  const size_t other = fakes[0]->launches > 0 ? 1 : 0;
  fakes[other]->refuse_launches = 1;
  auto second = *enqueue(*stream, launch(c, d, 0.1));
  auto third = *enqueue(*stream, launch(c, d, 0.1));
  gate.set_value();
  static_cast<void>(engine->finish(*stream));
  EXPECT_EQ(first->status(), CL_COMPLETE);
  EXPECT_EQ(second->status(), CL_COMPLETE);  // elsewhere, or in a second trial
  EXPECT_EQ(third->status(), CL_COMPLETE);
  EXPECT_EQ(read(*stream, d), filled(7));
}

}  // namespace
}  // namespace tutti::testing
