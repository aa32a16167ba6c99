// SPDX-License-Identifier: Apache-2.0
// Devices that do not answer in time (TUTTI_DEADLINE), on fakes that hang until they are woken up.
#include <gtest/gtest.h>

#include <thread>

#include "backends/bounded/bounded_objects.h"
#include "base/clock.h"
#include "base/keep_forever.h"
#include "engine_fixture.h"
#include "scheduler/devices/device_health.h"

namespace tutti::testing {
namespace {
using namespace scheduler;
using backends::BoundedCalls;

// So long that a device that answers is not taken for one that hangs on a busy machine.
constexpr uint64_t kDeadline = 1'000'000'000;

BoundedCalls& some_calls() {
  return *keep_forever(std::make_unique<BoundedCalls>("a device", kDeadline));
}

/// A kernel as the module of a bounded device gives it.
class BoundedFakeKernel final : public FakeKernel {
 public:
  BoundedFakeKernel(KernelSummary summary, FakeFunction function, uint32_t backends)
      : FakeKernel(std::move(summary), std::move(function), backends),
        // The fake is not its own: it lives as long as this does.
        bounded_(some_calls(), std::shared_ptr<backends::Kernel>(
                                   *FakeKernel::vendor_kernel(0, KernelVariant::kUntouched),
                                   [](backends::Kernel*) {})) {}
  Result<backends::Kernel*> vendor_kernel(uint32_t, KernelVariant) override { return &bounded_; }

 private:
  backends::bounded::BoundedKernel bounded_;
};

class Hanging : public EngineTest {
 protected:
  void begin(const FakeKinds& devices, SplitMode split) {
    deadline_ns = kDeadline;
    if (overdue_ns == 0) overdue_ns = 3600 * kDeadline;  // nothing is
    start(devices, split);
    stream = engine->create_stream({});
  }
  KernelWork kernel(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    KernelWork work = map_kernel(in, out, 1);
    work.kernel = *kept.emplace_back(keep_forever(
        std::make_unique<std::shared_ptr<FakeKernel>>(std::make_shared<BoundedFakeKernel>(
            summary_of(KernelForm::kMap),
            [](const FakeItem& item) { run_item(KernelForm::kMap, item); }, set->count()))));
    return work;
  }
  std::vector<std::shared_ptr<FakeKernel>*> kept;  // a device that wakes up still runs them
  Ref<Stream> stream;
};

TEST_F(Hanging, CallsEndInTimeAndAllLaterOnesAtOnce) {
  BoundedCalls& calls = some_calls();
  EXPECT_TRUE(calls.run("a call", [] { return Status(); }));
  EXPECT_EQ(calls.run("a call", []() -> Result<int> { return 7; }), 7);
  EXPECT_FALSE(calls.hangs());
  auto awake = std::make_shared<std::atomic<bool>>(false);
  std::thread other([&] {
    EXPECT_EQ(code_of(calls.run("another call",
                                [awake] {
                                  awake->wait(false);
                                  return Status();
                                })),
              CL_DEVICE_NOT_AVAILABLE);
  });
  const uint64_t begun = now_ns();
  const Status status = calls.run("a call", [awake] {
    awake->wait(false);
    return Status();
  });
  EXPECT_EQ(code_of(status), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_GE(now_ns() - begun, kDeadline / 2);  // the other one may have begun before
  other.join();
  EXPECT_TRUE(calls.hangs());
  bool called = false;
  EXPECT_FALSE(calls.run("a call", [&] {
    called = true;
    return Status();
  }));
  EXPECT_FALSE(called);
  *awake = true;
  awake->notify_all();
}

TEST_F(Hanging, AThrowingCallIsAFailureAndNoHang) {
  BoundedCalls& calls = some_calls();
  EXPECT_EQ(code_of(calls.run("a call", []() -> Status { throw std::bad_alloc(); })),
            CL_OUT_OF_HOST_MEMORY);
  EXPECT_FALSE(calls.hangs());
}

/// A device that builds nothing before it is woken up.
class SlowToBuild final : public FakeBackend {
 public:
  explicit SlowToBuild(std::shared_ptr<std::atomic<bool>> woken)
      : FakeBackend(0, kSharesHost), woken_(std::move(woken)) {}
  backends::BuildResult build(const std::string&, const std::string&) override {
    woken_->wait(false);
    return {nullptr, CL_BUILD_PROGRAM_FAILURE, "it is awake"};
  }

 private:
  const std::shared_ptr<std::atomic<bool>> woken_;
};

TEST_F(Hanging, BuildsHaveATimeOfTheirOwn) {
  auto awake = std::make_shared<std::atomic<bool>>(false);
  const auto device = [&](uint64_t builds_ns) {
    auto made = backends::with_deadline("a device", {kDeadline, builds_ns},
                                        [awake] { return std::make_unique<SlowToBuild>(awake); });
    return made ? std::move(*made) : nullptr;
  };
  const auto hangs = device(kDeadline / 100);
  ASSERT_TRUE(hangs);
  EXPECT_EQ(hangs->build("", "").code, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_TRUE(hangs->hangs());
  const auto slow = device(1000 * kDeadline), unbounded = device(0);
  ASSERT_TRUE(slow && unbounded);
  std::thread other([&] {
    while (!hangs->hangs()) std::this_thread::yield();
    awake->store(true);
    awake->notify_all();
  });
  EXPECT_EQ(slow->build("", "").log, "it is awake");
  EXPECT_EQ(unbounded->build("", "").log, "it is awake");
  EXPECT_FALSE(slow->hangs());
  other.join();
}

TEST_F(Hanging, BoundedDevicesComputeAsOthersDo) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kPins, kPins},
                                                         {kSynchronous, kSynchronous}}) {
    for (const SplitMode split : {SplitMode::kForce, SplitMode::kNever}) {
      SCOPED_TRACE(devices);
      begin(devices, split);
      auto a = buffer(2), b = buffer(5), c = buffer(6);
      ASSERT_TRUE(enqueue(*stream, kernel(a, b)));
      ASSERT_TRUE(enqueue(*stream, kernel(b, c)));
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(read(*stream, c), filled(22));
      engine.reset();
    }
  }
}

TEST_F(Hanging, WithMemoryOfItsOwnOthersComputeInItsPlace) {
  for (const SplitMode split : {SplitMode::kForce, SplitMode::kNever}) {
    begin({kOwnMemory, kOwnMemory}, split);
    auto a = buffer(2), b = buffer(5);
    for (auto* fake : fakes) fake->awake = false;
    fakes[0]->hang_launches = 1;
    const auto launch = enqueue(*stream, kernel(a, b));
    ASSERT_TRUE(launch);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ((*launch)->status(), CL_COMPLETE);
    EXPECT_EQ(read(*stream, b), filled(7));
    if (fakes[0]->hang_launches == 0) {
      EXPECT_TRUE(set->at(0).hangs());
      EXPECT_EQ(set->health().lost(), backend_bit(0));
    }
    // What it does when it wakes up is of no account.
    fakes[0]->wake_up();
    ASSERT_TRUE(enqueue(*stream, kernel(b, a)));
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, a), filled(22));
    EXPECT_EQ(read(*stream, b), filled(7));
    engine.reset();
  }
}

TEST_F(Hanging, InTheHostsMemoryWhatItShouldHaveWrittenStaysFailed) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kSharesHost}, {kSharesHost, kSharesHost}}) {
    SCOPED_TRACE(devices);
    begin(devices, SplitMode::kNever);
    auto a = buffer(2), b = buffer(5), c = buffer(6);
    for (auto* fake : fakes) fake->hang_launches = 1;
    const auto launch = enqueue(*stream, kernel(a, b));
    ASSERT_TRUE(launch);
    static_cast<void>(engine->finish(*stream));
    EXPECT_LT((*launch)->status(), 0);
    std::vector<std::byte> bytes(kBytes, std::byte{9});
    const auto get = [&](const Ref<LogicalBuffer>& from) {
      return enqueue(*stream, ReadWork{whole(from), 0, kBytes, bytes.data()}, {}, true).has_value();
    };
    EXPECT_FALSE(get(b));
    // New content might be overwritten at any time.
    static_cast<void>(enqueue(*stream, WriteWork{whole(b), 0, kBytes, bytes.data()}, {}, true));
    EXPECT_FALSE(get(b));
    EXPECT_TRUE(get(c));
    EXPECT_EQ(bytes, filled(6));
    for (auto* fake : fakes) fake->wake_up();
    engine.reset();
  }
}

TEST_F(Hanging, WhatIsOverdueBeforeThatIsComputedElsewhere) {
  balancer.name = "static";  // a package for each
  overdue_ns = 50'000'000;
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kSharesHost, kSharesHost}}) {
    SCOPED_TRACE(devices);
    begin(devices, SplitMode::kAuto);
    auto a = buffer(2), b = buffer(5);
    KernelWork work = kernel(a, b);
    for (uint32_t device = 0; device < set->count(); ++device) {
      for (int run = 0; run < 2; ++run) set->model().add(model_key(work), device, kBytes, 2e-3);
    }
    fakes[0]->hang_launches = 1;
    const auto launch = enqueue(*stream, std::move(work));
    ASSERT_TRUE(launch);
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_FALSE(set->at(0).hangs());
    EXPECT_EQ((*launch)->status(), CL_COMPLETE);
    EXPECT_EQ(read(*stream, b), filled(7));
    std::vector<std::byte> bytes(kBytes, std::byte{9});
    const bool shared = devices[0] == kSharesHost;
    // In shared memory it waits until the device hangs; then new content might be overwritten.
    static_cast<void>(enqueue(*stream, WriteWork{whole(b), 0, kBytes, bytes.data()}, {}, true));
    while (!set->at(0).hangs()) std::this_thread::yield();
    const auto got = enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, true);
    EXPECT_EQ(got.has_value(), !shared);
    EXPECT_EQ(read(*stream, a), filled(2));
    for (auto* fake : fakes) fake->wake_up();
    engine.reset();
  }
}

}  // namespace
}  // namespace tutti::testing
