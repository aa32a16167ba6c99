// SPDX-License-Identifier: Apache-2.0
// Packages that take far longer than predicted, on fakes that hang until they are woken up, without
// TUTTI_DEADLINE: another device computes them as well.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine_fixture.h"
#include "scheduler/devices/device_health.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class Overdue : public EngineTest {
 protected:
  static constexpr BackendMask kFirst = backend_bit(0);

  void SetUp() override {
    balancer.name = "static";  // a package for each, whatever happens
    overdue_ns = 50'000'000;
  }
  void begin(const FakeKinds& devices) {
    start(devices, SplitMode::kAuto);
    stream = engine->create_stream({});
  }
  /// So short that everything is overdue at once.
  KernelWork kernel(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                    KernelForm form = KernelForm::kMap) {
    auto work =
        known_kernel(form, in, out, 2e-3, [form](const FakeItem& item) { run_item(form, item); });
    kept.push_back(work.kernel);
    return work;
  }
  Ref<Command> launch(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                      KernelForm form = KernelForm::kMap) {
    const auto launched = enqueue(*stream, kernel(in, out, form));
    EXPECT_TRUE(launched);
    return *launched;
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  template <typename Condition>
  static void wait_until(Condition condition) {
    while (!condition()) pause();
  }
  /// Whether it goes on for so long that the launch would have been computed elsewhere by now.
  bool goes_on(Command& command) const {
    std::this_thread::sleep_for(std::chrono::nanoseconds(6 * overdue_ns));
    return command.status() > CL_COMPLETE;
  }
  void wake_up() {
    for (auto* fake : fakes) fake->wake_up();
    wait_until([&] { return set->health().late() == 0; });
  }
  void end() {
    wake_up();
    stream = nullptr;
    engine.reset();
  }
  // No other one is known by the same address.
  std::vector<std::shared_ptr<const LaunchableKernel>> kept;
  Ref<Stream> stream;
};

TEST_F(Overdue, AnotherDeviceComputesWhatOneDoesNot) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kSharesHost},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kPins, kPins},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost, kSharesHost},
                                                         {kOwnMemory, kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    begin(devices);
    auto a = buffer(2), b = buffer(5);
    fakes[0]->hang_launches = 1;
    const auto launched = launch(a, b);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(launched->status(), CL_COMPLETE);
    EXPECT_EQ(fakes[0]->hang_launches, 0);
    EXPECT_EQ(set->health().late(), kFirst);
    EXPECT_EQ(read(*stream, b), filled(7));
    wake_up();
    EXPECT_EQ(read(*stream, b), filled(7));
    EXPECT_EQ(read(*stream, a), filled(2));
    end();
  }
}

TEST_F(Overdue, WithoutItTakesNoPartUntilItIsDone) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost, kSharesHost}}) {
    SCOPED_TRACE(devices);
    begin(devices);
    auto a = buffer(2), b = buffer(5), c = buffer(6), d = buffer(7);
    fakes[0]->hang_launches = 1;
    launch(a, b);
    EXPECT_TRUE(engine->finish(*stream));
    const uint64_t before = fakes[0]->launches;
    launch(b, c);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, c), filled(22));
    EXPECT_EQ(fakes[0]->launches, before);
    wake_up();
    launch(c, d);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, d), filled(67));
    EXPECT_GT(fakes[0]->launches, before);
    end();
  }
}

TEST_F(Overdue, InMemoryApartOthersOverwriteWhatItUses) {
  begin({kOwnMemory, kOwnMemory});
  auto a = buffer(2), b = buffer(5);
  fakes[0]->hang_launches = 1;
  launch(a, b);
  EXPECT_TRUE(engine->finish(*stream));
  for (uint8_t value = 1; value < 5; ++value) {
    const auto bytes = filled(value);
    for (const auto& buffer : {a, b}) {
      ASSERT_TRUE(enqueue(*stream, WriteWork{whole(buffer), 0, kBytes, bytes.data()}, {}, true));
    }
    launch(a, b);
    launch(b, b);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, b), filled(static_cast<uint8_t>(9 * value + 4)));
  }
  wake_up();
  EXPECT_EQ(read(*stream, b), filled(40));
  EXPECT_EQ(read(*stream, a), filled(4));
  launch(b, a);
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, a), filled(121));
  end();
}

TEST_F(Overdue, InSharedMemoryWhoOverwritesWhatItUsesWaits) {
  begin({kSharesHost, kSharesHost});
  const auto bytes = filled(9);
  for (const bool input : {true, false}) {
    for (const int how : {0, 1, 2, 3}) {
      SCOPED_TRACE(how);
      auto a = buffer(2), b = buffer(5), c = buffer(6);
      for (auto* fake : fakes) fake->awake = false;
      fakes[0]->hang_launches = 1;
      launch(a, b);
      EXPECT_TRUE(engine->finish(*stream));
      ASSERT_EQ(fakes[0]->hang_launches, 0);
      const auto& used = input ? a : b;
      // Who only reads goes on.
      EXPECT_EQ(read(*stream, used), filled(input ? 2 : 7));
      ASSERT_TRUE(enqueue(*stream, MapWork{whole(used), 0, kBytes, false, false}, {}, true));
      launch(used, c);
      EXPECT_TRUE(engine->finish(*stream));
      Work work;
      if (how == 0) work = WriteWork{whole(used), 0, kBytes, bytes.data()};
      if (how == 1) work = kernel(c, used);
      if (how == 2) work = MapWork{whole(used), 0, kBytes, false, true};
      if (how == 3) work = CopyWork{whole(c), whole(used), 0, 0, kBytes};
      const auto later = std::holds_alternative<KernelWork>(work)
                             ? enqueue(*stream, std::move(std::get<KernelWork>(work)))
                             : enqueue(*stream, std::move(work));
      ASSERT_TRUE(later);
      EXPECT_TRUE(goes_on(**later));
      wake_up();
      EXPECT_TRUE(engine->finish(*stream));
      if (how == 0) {
        EXPECT_EQ(read(*stream, used), filled(9));
      }
      if (how == 2) {
        EXPECT_EQ(read(*stream, used), filled(input ? 2 : 7));
      }
      if (how == 3) {
        EXPECT_EQ(read(*stream, used), read(*stream, c));
      }
    }
  }
  end();
}

TEST_F(Overdue, WhatIsOverwrittenInSharedMemoryIsComputedOnce) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kOwnMemory, kSharesHost}}) {
    SCOPED_TRACE(devices);
    const bool apart = devices[0] == kOwnMemory;
    begin(devices);
    auto a = buffer(2);
    fakes[0]->hang_launches = 1;
    const auto launched = launch(a, a);
    ASSERT_TRUE(engine->flush(*stream));
    // In memory apart its content from before is in the host's copy.
    EXPECT_EQ(goes_on(*launched), !apart);
    EXPECT_EQ(fakes[1]->launches, apart ? 2u : 1u);
    if (!apart) wake_up();
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, a), filled(7));
    end();
  }
}

TEST_F(Overdue, WhatLiesThereAloneIsComputedOnce) {
  begin({kOwnMemory, kOwnMemory});
  auto a = buffer(2), b = buffer(5);
  launch(a, b);
  EXPECT_TRUE(engine->finish(*stream));  // a part of the result on each
  fakes[0]->hang_launches = 1;
  const auto launched = launch(b, b);
  EXPECT_TRUE(goes_on(*launched));
  wake_up();
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, b), filled(22));
  end();
}

TEST_F(Overdue, TheApplicationsOwnMemoryIsComputedInOnce) {
  begin({kSharesHost, kSharesHost});
  std::vector<std::byte> memory(kBytes, std::byte{5});
  LogicalBuffer::Options options;
  options.size = kBytes;
  options.user_memory = memory.data();
  auto a = buffer(2), b = *LogicalBuffer::create(*set, options);
  fakes[0]->hang_launches = 1;
  const auto launched = launch(a, b);
  EXPECT_TRUE(goes_on(*launched));
  wake_up();
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, b), filled(7));
  end();
}

TEST_F(Overdue, MergedResultsAreComputedOnce) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  stream = engine->create_stream({});
  auto a = buffer(2), b = buffer(0);
  for (auto* fake : fakes) fake->hang_launches = 1;
  const auto launched = launch(a, b, KernelForm::kCount);
  wait_until([&] { return fakes[0]->hang_launches == 0; });
  fakes[1]->wake_up();
  EXPECT_TRUE(goes_on(*launched));
  wake_up();
  EXPECT_TRUE(engine->finish(*stream));
  std::vector<std::byte> expected = filled(0);
  const uint32_t count = kBytes;
  std::memcpy(expected.data() + 2 * sizeof count, &count, sizeof count);
  EXPECT_EQ(read(*stream, b), expected);
  a = b = nullptr;
  end();
}

TEST_F(Overdue, TheFirstOfBothCounts) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kSharesHost}}) {
    for (const bool in_place : {false, true}) {
      if (in_place && devices != FakeKinds{kOwnMemory, kOwnMemory}) continue;
      SCOPED_TRACE(devices);
      begin(devices);
      auto a = buffer(2), b = in_place ? a : buffer(5);
      fakes[0]->hang_launches = 1;
      const auto launched = launch(a, b);
      wait_until([&] { return fakes[1]->launches == 1 && fakes[1]->unfinished == 0; });
      fakes[1]->hang_launches = 1;
      wait_until([&] { return fakes[1]->hang_launches == 0; });
      fakes[0]->wake_up();
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(launched->status(), CL_COMPLETE);
      EXPECT_EQ(set->health().late(), backend_bit(1));
      EXPECT_EQ(read(*stream, b), filled(7));
      // What the other one has is of no account.
      launch(b, b);
      if (devices == FakeKinds{kOwnMemory, kOwnMemory}) {
        EXPECT_TRUE(engine->finish(*stream));
      }
      wake_up();
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(read(*stream, b), filled(22));
      end();
    }
  }
}

TEST_F(Overdue, WhereTheOtherDeviceFailsItIsWaitedFor) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kSharesHost, kSharesHost}}) {
    for (const bool refused : {false, true}) {
      SCOPED_TRACE(devices);
      begin(devices);
      auto a = buffer(2), b = buffer(5);
      fakes[0]->hang_launches = 1;
      const auto launched = launch(a, b);
      wait_until([&] { return fakes[1]->launches == 1 && fakes[1]->unfinished == 0; });
      auto& failing = refused ? fakes[1]->refuse_launches : fakes[1]->fail_launches;
      failing = 1;
      EXPECT_TRUE(goes_on(*launched));
      EXPECT_EQ(failing, 0);
      wake_up();
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(read(*stream, b), filled(7));
      end();
    }
  }
}

TEST_F(Overdue, ChainedLaunchesGoOnWithoutIt) {
  begin({kOwnMemory, kOwnMemory});
  auto a = buffer(2), b = buffer(5), c = buffer(6), d = buffer(7);
  fakes[0]->hang_launches = 1;
  launch(a, b);
  launch(b, c);
  launch(c, d);
  launch(d, b);
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, d), filled(67));
  EXPECT_EQ(read(*stream, b), filled(202));
  EXPECT_EQ(read(*stream, c), filled(22));
  wake_up();
  EXPECT_EQ(read(*stream, d), filled(67));
  EXPECT_EQ(read(*stream, b), filled(202));
  launch(b, a);
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, a), filled(static_cast<uint8_t>(202 * 3 + 1)));
  end();
}

TEST_F(Overdue, AllMayBeReleasedMeanwhile) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kSharesHost, kSharesHost}}) {
    SCOPED_TRACE(devices);
    begin(devices);
    {
      auto a = buffer(2), b = buffer(5);
      fakes[0]->hang_launches = 1;
      launch(a, b);
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(read(*stream, b), filled(7));
      engine->abandon(*stream);
      stream = nullptr;
      engine->released();
    }
    auto other = engine->create_stream({});
    auto c = buffer(3), d = buffer(4);
    ASSERT_TRUE(enqueue(*other, kernel(c, d)));
    EXPECT_TRUE(engine->finish(*other));
    EXPECT_EQ(read(*other, d), filled(10));
    other = nullptr;
    end();
  }
}

}  // namespace
}  // namespace tutti::testing
