// SPDX-License-Identifier: Apache-2.0
// Devices that do one thing at a time: what others need of them, and what their transfers tell.
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineSerial : public EngineTest {};

/// The second device gets its kernel, which it asks for before any data, when the first one
/// computes.
class LateKernel final : public FakeKernel {
 public:
  using FakeKernel::FakeKernel;
  Result<backends::Kernel*> vendor_kernel(uint32_t backend, KernelVariant variant) override {
    if (backend == 1) computing.wait(false);
    return FakeKernel::vendor_kernel(backend, variant);
  }
  std::atomic<bool> computing{false};
};

TEST_F(EngineSerial, WhatOthersNeedLeavesADeviceBeforeItComputes) {
  for (const char* name : {"sigmoid", "static"}) {
    balancer.name = name;
    start({kSerial, kSerial}, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    const auto in = buffer(7), out = buffer(0);
    const Place first = in->place_on(0);
    ASSERT_TRUE(in->make_valid(first, 0, kBytes));
    in->set_exclusive(first, 0, kBytes);
    fakes[0]->reads_behind = 0;
    std::atomic<bool> second_begun{false};
    std::atomic<uint32_t> behind{0};
    LateKernel* late = nullptr;
    const auto compute = [&](const FakeItem& item) {
      EXPECT_NE(item.launch->global[0], kBytes) << "not split";
      if (item.global_id[0] >= kBytes / 2 && !second_begun.exchange(true)) {
        behind = fakes[0]->reads_behind.load();
      }
      late->computing = true;
      late->computing.notify_all();
      // The first device computes until the second one does, or asks it for something.
      while (!second_begun && fakes[0]->reads_behind == 0) std::this_thread::yield();
      run_item(KernelForm::kMap, item);
    };
    KernelWork work = known_kernel<LateKernel>(KernelForm::kMap, in, out, 0.1, compute);
    late = static_cast<LateKernel*>(work.kernel.get());
    ASSERT_TRUE(enqueue(*stream, work));
    EXPECT_EQ(read(*stream, out), filled(22));
    EXPECT_EQ(behind, 0u) << name;
  }
}

// It hands out, for the third launch, what replaces in the host's copy what the first one still
// reads.
TEST_F(EngineSerial, NothingComesToTheHostUnderWhoReadsThere) {
  balancer = parse_balancer("dynamic:16").value();
  start({kSharesHost, kSerial}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  for (int round = 0; round < 10; ++round) {
    const auto a = buffer(1), b = buffer(2), c = buffer(0);
    const std::byte* const host = *a->host_memory();
    std::atomic<bool> third{false};
    const auto launch = [&](const auto& in, const auto& out, std::function<void(bool)> begins) {
      return known_kernel(KernelForm::kMap, in, out, 0.1,
                          [&, begins = std::move(begins)](const FakeItem& item) {
                            begins(item.memory(0) == host);
                            run_item(KernelForm::kMap, item);
                          });
    };
    ASSERT_TRUE(enqueue(*stream, launch(a, c, [&](bool in_host) {
      // The device that shares the host's memory takes its time, but not for ever.
      for (int i = 0; in_host && i < 20000 && !third; ++i) std::this_thread::yield();
    })));
    ASSERT_TRUE(enqueue(*stream, launch(b, a, [](bool) {})));
    ASSERT_TRUE(enqueue(*stream, launch(a, b, [&](bool in_host) {
      if (!in_host) third = true;
    })));
    ASSERT_TRUE(engine->finish(*stream));
    EXPECT_EQ(read(*stream, c), filled(4));
    EXPECT_EQ(read(*stream, b), filled(22));
  }
}

TEST_F(EngineSerial, WhatIsOnItsWayToTheHostIsNotAskedForAgain) {
  start({kSerial, kSerial}, SplitMode::kAuto);
  const auto moved = buffer(7);
  const Place first = moved->place_on(0), second = moved->place_on(1);
  ASSERT_TRUE(moved->make_valid(first, 0, kBytes));
  moved->set_exclusive(first, 0, kBytes);
  ASSERT_TRUE(moved->device_memory(1));
  fakes[0]->bytes_out = 0;
  std::atomic<bool> free{false};
  fakes[0]->only_thread().post([&] { free.wait(false); });
  std::thread handing_out([&] { EXPECT_TRUE(moved->make_valid(kHostPlace, 0, kBytes)); });
  while (fakes[0]->bytes_out == 0) std::this_thread::yield();
  std::thread asking([&] { EXPECT_TRUE(moved->make_valid(second, 0, kBytes)); });
  // Who asks again does so by now, most likely.
  for (int i = 0; i < 10000 && fakes[0]->bytes_out == kBytes; ++i) std::this_thread::yield();
  free = true;
  free.notify_all();
  handing_out.join();
  asking.join();
  EXPECT_EQ(fakes[0]->bytes_out, kBytes);
  EXPECT_TRUE(moved->valid_at(second, 0, kBytes));
}

TEST_F(EngineSerial, WaitingForKernelsIsNoPartOfATransfer) {
  constexpr uint64_t kLarge = 2 << 20;
  for (const bool serial : {true, false}) {
    start(FakeKinds(2, serial ? kSerial : kOwnMemory), SplitMode::kAuto);
    LogicalBuffer::Options options;
    options.size = kLarge;
    const auto large = *LogicalBuffer::create(*set, options);
    const auto move_out = [&] {
      ASSERT_TRUE(large->device_memory(0));
      large->set_exclusive(large->place_on(0), 0, kLarge);
      ASSERT_TRUE(large->make_valid(kHostPlace, 0, kLarge));
    };
    const auto learned = [&] { return !set->model().fit(kFromDevice, 0).empty(); };
    {
      const Computing computing(*set, 0);
      move_out();
    }
    EXPECT_EQ(learned(), !serial);
    const TransferTimer timer(*set, 0);
    { const Computing meanwhile(*set, 0); }
    timer.ended(kFromDevice, kLarge);
    EXPECT_EQ(learned(), !serial);
    move_out();
    EXPECT_TRUE(learned());
  }
}

}  // namespace
}  // namespace tutti::testing
