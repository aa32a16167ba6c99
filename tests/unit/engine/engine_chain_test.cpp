// SPDX-License-Identifier: Apache-2.0
// Split launches of an in-order stream begin on what they need, not when all before them is done.
#include <array>
#include <future>
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineChain : public EngineTest {
 protected:
  // The last item of the first of two equal devices, which begin at both ends of a launch.
  static constexpr size_t kLast = kBytes / 2 - 1;

  void SetUp() override { balancer.name = "static"; }  // a package for each, whatever happens

  KernelWork launch(KernelForm form, const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                    std::function<void(size_t)> before_item = {}) {
    return known_kernel(form, in, out, 0.1,
                        [form, before_item = std::move(before_item)](const FakeItem& item) {
                          if (before_item) before_item(item.global_id[0]);
                          run_item(form, item);
                        });
  }
  /// One work-group, which runs whole, and on the first device: item `first` and those behind it.
  KernelWork one_group(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out, size_t first,
                       std::function<void(size_t)> before_item = {}) {
    KernelWork work = launch(KernelForm::kMap, in, out, std::move(before_item));
    work.shape.offset[0] = first;
    work.shape.global[0] = kGroup;
    work.shape.local[0] = kGroup;
    for (uint32_t device = 1; device < set->count(); ++device) {
      for (int run = 0; run < 5; ++run) set->model().add(model_key(work), device, kBytes, 10);
    }
    return work;
  }
  /// What launches of these forms make of `bytes`, one after the other.
  static std::vector<std::byte> expected(std::vector<std::byte> bytes,
                                         std::span<const KernelForm> forms) {
    for (const KernelForm form : forms) {
      std::vector<std::byte> out(kBytes);
      for (uint32_t i = 0; i < kBytes; ++i) apply(form, bytes.data(), out.data(), i, kBytes, 1);
      bytes = std::move(out);
    }
    return bytes;
  }
};

TEST_F(EngineChain, BeginsOnWhatIsThere) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(0), d = buffer(0);
    std::promise<void> gate;
    const std::shared_future<void> opened = gate.get_future().share();
    std::atomic<bool> open{false};
    std::atomic<int> early{0}, too_early{0}, third{0};
    auto first = *enqueue(*stream, launch(KernelForm::kMap, a, b, [&](size_t item) {
      if (item == kLast) opened.wait();
    }));
    auto second = *enqueue(*stream, launch(KernelForm::kMap, b, c, [&](size_t item) {
      if (open) return;
      ++early;
      if (item == kLast) ++too_early;
    }));
    // Reads from everywhere: it has to wait for all.
    auto last = *enqueue(*stream, launch(KernelForm::kGather, c, d, [&](size_t) {
      if (!open) ++third;
    }));
    while (early == 0) std::this_thread::yield();
    EXPECT_GT(first->status(), CL_COMPLETE);
    EXPECT_GT(second->status(), CL_RUNNING);
    EXPECT_EQ(last->status(), CL_QUEUED);
    open = true;
    gate.set_value();
    const std::vector<KernelForm> forms{KernelForm::kMap, KernelForm::kMap, KernelForm::kGather};
    EXPECT_EQ(read(*stream, d), expected(filled(1), forms));
    EXPECT_EQ(read(*stream, c), filled(13));
    EXPECT_EQ(too_early, 0);
    EXPECT_EQ(third, 0);
    EXPECT_EQ(second->status(), CL_COMPLETE);
    engine.reset();
  }
}

// What a device that has failed overwrites is copied first: not as it is while that is computed.
TEST_F(EngineChain, WhatIsCopiedFirstHasBeenComputed) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    for (size_t failing = 0; failing < devices.size(); ++failing) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(failing));
      start(devices, SplitMode::kAuto);
      auto stream = engine->create_stream({});
      auto a = buffer(1);
      // It fails with its package of the second launch, having computed that.
      std::atomic<int> launches{0};
      fakes[failing]->fate = [&launches](FakeCall call) -> FakeFate {
        if (call != FakeCall::kLaunch || ++launches != 2) return {};
        return {.result = CL_OUT_OF_RESOURCES};
      };
      std::vector<KernelForm> forms;
      for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 2; ++i) {
          set->health().note_failure(static_cast<uint32_t>(failing), {CL_OUT_OF_RESOURCES, ""});
          set->health().note_success(static_cast<uint32_t>(failing));
        }
        launches = 0;
        std::atomic<bool> chained{false};
        // The second one comes while this is computed.
        auto first = enqueue(*stream, launch(KernelForm::kMap, a, a, [&](size_t) {
          while (!chained) std::this_thread::yield();
        }));
        auto second = enqueue(*stream, launch(KernelForm::kMap, a, a));
        ASSERT_TRUE(first && second);
        chained = true;
        ASSERT_TRUE(engine->finish(*stream));
        forms.insert(forms.end(), 2, KernelForm::kMap);
      }
      EXPECT_EQ(read(*stream, a), expected(filled(1), forms));
      engine.reset();
    }
  }
}

TEST_F(EngineChain, WholeLaunchesBeginOnWhatIsThere) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(0);
    std::promise<void> gate;
    const std::shared_future<void> opened = gate.get_future().share();
    std::atomic<bool> open{false};
    std::atomic<int> groups{0}, later{0}, too_early{0};
    const auto early = [&](size_t) {
      if (!open) ++groups;
    };
    // The second device computes for a long time.
    auto first = *enqueue(*stream, launch(KernelForm::kMap, a, b, [&](size_t item) {
      if (item == kLast + 1) opened.wait();
    }));
    auto second = *enqueue(*stream, one_group(b, b, 0, early));
    auto third = *enqueue(*stream, one_group(b, b, 2 * kGroup, early));
    auto fourth = *enqueue(*stream, launch(KernelForm::kMap, b, c, [&](size_t item) {
      if (!open) ++(item > kLast ? too_early : later);
    }));
    while (later == 0) std::this_thread::yield();
    EXPECT_EQ(groups, 2 * kGroup);
    for (const auto& command : {first, second, third, fourth}) {
      EXPECT_GT(command->status(), CL_COMPLETE);
    }
    open = true;
    gate.set_value();
    const auto expected_b = with_group(with_group(filled(4), 0, 13), 2 * kGroup, 13);
    EXPECT_EQ(read(*stream, b), expected_b);
    EXPECT_EQ(read(*stream, c), with_group(with_group(filled(13), 0, 40), 2 * kGroup, 40));
    EXPECT_EQ(too_early, 0);
    for (const auto& command : {first, second, third, fourth}) {
      EXPECT_EQ(command->status(), CL_COMPLETE);
    }
    engine.reset();
  }
}

TEST_F(EngineChain, WholeLaunchesWaitForWhatTheyTouch) {
  constexpr size_t kBetween = kLast - kGroup / 2;  // some items of both devices
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kSharesHost, kSharesHost}, {kOwnMemory, kOwnMemory}, {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(9);
    std::promise<void> gate;
    const std::shared_future<void> opened = gate.get_future().share();
    std::atomic<bool> open{false};
    std::atomic<int> early{0}, too_early{0};
    const auto check = [&](size_t) {
      if (!open) ++too_early;
    };
    ASSERT_TRUE(enqueue(*stream, launch(KernelForm::kMap, a, b, [&](size_t item) {
      if (item == kLast + 1) opened.wait();
    })));
    ASSERT_TRUE(enqueue(*stream, one_group(b, c, 0, [&](size_t) { ++early; })));
    // Reads what is being written, writes what is being read, and what is being written.
    ASSERT_TRUE(enqueue(*stream, one_group(b, c, kBetween, check)));
    ASSERT_TRUE(enqueue(*stream, one_group(c, a, kBetween, check)));
    ASSERT_TRUE(enqueue(*stream, one_group(c, b, kBetween, check)));
    while (early < static_cast<int>(kGroup)) std::this_thread::yield();
    open = true;
    gate.set_value();
    EXPECT_EQ(read(*stream, c), with_group(with_group(filled(9), 0, 13), kBetween, 13));
    EXPECT_EQ(read(*stream, a), with_group(filled(1), kBetween, 40));
    EXPECT_EQ(read(*stream, b), with_group(filled(4), kBetween, 40));
    EXPECT_EQ(too_early, 0);
    engine.reset();
  }
}

TEST_F(EngineChain, WritesNothingThatIsStillRead) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kSharesHost, kSharesHost}, {kOwnMemory, kOwnMemory}, {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0), c = buffer(2);
    std::promise<void> gate;
    const std::shared_future<void> opened = gate.get_future().share();
    auto first = *enqueue(*stream, launch(KernelForm::kGather, a, b, [&](size_t item) {
      if (item == kLast) opened.wait();
    }));
    auto second = *enqueue(*stream, launch(KernelForm::kMap, c, a));  // over what the first reads
    auto third = *enqueue(*stream, launch(KernelForm::kMap, c, b));   // and what it writes
    EXPECT_GT(second->status(), CL_COMPLETE);
    gate.set_value();
    EXPECT_EQ(read(*stream, b), filled(7));
    EXPECT_EQ(read(*stream, a), filled(7));
    engine.reset();
  }
}

TEST_F(EngineChain, IterationsMoveTheirHalosOnly) {
  constexpr uint64_t kSteps = 20;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  auto a = buffer(3), b = buffer(0);
  std::vector<KernelForm> forms;
  for (uint64_t step = 0; step < kSteps; ++step) {
    forms.push_back(KernelForm::kStencil);
    ASSERT_TRUE(enqueue(*stream, launch(forms.back(), step % 2 ? b : a, step % 2 ? a : b)));
  }
  ASSERT_TRUE(engine->finish(*stream));
  for (const FakeBackend* fake : fakes) {
    EXPECT_EQ(fake->launches, kSteps);
    // Its half and one neighbour of the first step, then a neighbour for each.
    EXPECT_EQ(fake->bytes_in, kBytes / 2 + kSteps);
  }
  EXPECT_EQ(read(*stream, a), expected(filled(3), forms));
}

TEST_F(EngineChain, LongChainsOverChangingSharesAndRefusedPackages) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory},
                                                         {kSharesHost, kOwnMemory, kCostlyTimes},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (const bool refused : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (refused ? ", refused" : ""));
      start(devices, SplitMode::kForce);  // packages at random
      auto stream = engine->create_stream({});
      const std::array buffers{buffer(0), buffer(0)};
      std::array<std::vector<std::byte>, 2> content{filled(0), filled(0)};
      for (size_t i = 0; i < kBytes; ++i) {
        content[0][i] = static_cast<std::byte>(i * 37 + i / 100);
      }
      const WriteWork write{whole(buffers[0]), 0, kBytes, content[0].data()};
      ASSERT_TRUE(enqueue(*stream, write, {}, true));
      const auto on_host = [&](KernelForm form, size_t from, size_t to, size_t first, size_t n) {
        const std::vector<std::byte> before = content[from];
        for (size_t i = first; i < first + n; ++i) {
          apply(form, before.data(), content[to].data(), static_cast<uint32_t>(i), kBytes, 1);
        }
      };
      for (size_t i = 0; i < 60; ++i) {
        const KernelForm form = i % 7 == 3   ? KernelForm::kGather
                                : i % 3 == 1 ? KernelForm::kStencil
                                             : KernelForm::kMap;
        const size_t from = i % 2, to = 1 - from;
        if (refused && i % 9 == 4) fakes.back()->refuse_launches = 1;
        ASSERT_TRUE(enqueue(*stream, launch(form, buffers[from], buffers[to])));
        on_host(form, from, to, 0, kBytes);
        // Whole ones between them, on data of which something is under way or not.
        for (size_t j = 0; j < i % 5; ++j) {
          const size_t first = (i * 331 + j * 97) % (kBytes - kGroup);
          const size_t in = j % 2 == 0 ? to : from, out = j % 3 == 2 ? from : to;
          ASSERT_TRUE(enqueue(*stream, one_group(buffers[in], buffers[out], first)));
          on_host(KernelForm::kMap, in, out, first, kGroup);
        }
      }
      EXPECT_EQ(read(*stream, buffers[0]), content[0]);
      EXPECT_EQ(read(*stream, buffers[1]), content[1]);
      EXPECT_TRUE(engine->finish(*stream));
      engine.reset();
    }
  }
}

}  // namespace
}  // namespace tutti::testing
