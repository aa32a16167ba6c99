// SPDX-License-Identifier: Apache-2.0
// Split launches of an in-order stream begin on what they need, not when all before them is done.
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
    return known_kernel(form, in, out, 1,
                        [form, before_item = std::move(before_item)](const FakeItem& item) {
                          if (before_item) before_item(item.global_id[0]);
                          run_item(form, item);
                        });
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
  for (const char* devices : {"hh", "dd", "gg", "hd"}) {
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

TEST_F(EngineChain, WritesNothingThatIsStillRead) {
  for (const char* devices : {"hh", "dd", "hd"}) {
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
  start("dd", SplitMode::kAuto);
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
  for (const char* devices : {"hh", "dd", "gg", "hd", "hdg", "ddd"}) {
    for (const bool refused : {false, true}) {
      SCOPED_TRACE(std::string(devices) + (refused ? ", refused" : ""));
      start(devices, SplitMode::kForce);  // packages at random
      auto stream = engine->create_stream({});
      auto a = buffer(0), b = buffer(0);
      std::vector<std::byte> content(kBytes);
      for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<std::byte>(i * 37 + i / 100);
      ASSERT_TRUE(enqueue(*stream, WriteWork{whole(a), 0, kBytes, content.data()}, {}, true));
      std::vector<KernelForm> forms;
      for (int i = 0; i < 60; ++i) {
        forms.push_back(i % 7 == 3   ? KernelForm::kGather
                        : i % 3 == 1 ? KernelForm::kStencil
                                     : KernelForm::kMap);
        auto from = i % 2 == 0 ? a : b, to = i % 2 == 0 ? b : a;
        if (refused && i % 9 == 4) fakes.back()->refuse_launches = 1;
        ASSERT_TRUE(enqueue(*stream, launch(forms.back(), from, to)));
      }
      EXPECT_EQ(read(*stream, a), expected(content, forms));
      EXPECT_TRUE(engine->finish(*stream));
      engine.reset();
    }
  }
}

}  // namespace
}  // namespace tutti::testing
