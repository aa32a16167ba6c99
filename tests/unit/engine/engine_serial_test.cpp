// SPDX-License-Identifier: Apache-2.0
// Devices that do one thing at a time: what others need of them, and what their transfers tell.
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineSerial : public EngineTest {};

TEST_F(EngineSerial, WhatOthersNeedLeavesADeviceBeforeItComputes) {
  start("ss", SplitMode::kAuto);
  auto stream = engine->create_stream({});
  std::vector<KernelWork> launches;  // a kernel's address is what the model knows it by
  for (int round = 0; round < 50; ++round) {
    const auto in = buffer(7), out = buffer(0);
    const Place first = in->place_on(0);
    ASSERT_TRUE(in->make_valid(first, 0, kBytes));
    in->set_exclusive(first, 0, kBytes);
    fakes[0]->reads_behind = 0;
    std::atomic<bool> whole{false}, second_begun{false};
    std::atomic<uint32_t> behind{0};
    const auto compute = [&](const FakeItem& item) {
      if (item.launch->global[0] == kBytes) whole = true;
      if (item.global_id[0] >= kBytes / 2 && !second_begun.exchange(true)) {
        behind = fakes[0]->reads_behind.load();
      }
      // The first device computes until the second one does, or asks it for something.
      while (!whole && !second_begun && fakes[0]->reads_behind == 0) std::this_thread::yield();
      run_item(KernelForm::kMap, item);
    };
    launches.push_back(known_kernel(KernelForm::kMap, in, out, 0.1, compute));
    ASSERT_TRUE(enqueue(*stream, launches.back()));
    EXPECT_EQ(read(*stream, out), filled(22));
    EXPECT_FALSE(whole);
    EXPECT_EQ(behind, 0u) << "in round " << round;
  }
}

TEST_F(EngineSerial, WaitingForKernelsIsNoPartOfATransfer) {
  constexpr uint64_t kLarge = 2 << 20;
  for (const bool serial : {true, false}) {
    start(serial ? "ss" : "dd", SplitMode::kAuto);
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
