// SPDX-License-Identifier: Apache-2.0
// What one device alone has, pipes and queues on it: which devices the kernels that use them run
// on.
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EnginePipes : public EngineTest {
 protected:
  Result<Ref<LogicalBuffer>> pipe(uint32_t home) const {
    LogicalBuffer::Options options;
    options.pipe = {4, kBytes / 4};
    options.size = options.pipe->span();
    options.home = home;
    return engine->create_buffer(options, nullptr);
  }
  /// Counts launches in the pipe's first byte, and says how many in the buffer's.
  KernelWork counting(const Ref<LogicalBuffer>& pipe, const Ref<LogicalBuffer>& out) const {
    KernelWork work = const_cast<EnginePipes*>(this)->map_kernel(pipe, out, 1);
    KernelSummary summary = summary_of(KernelForm::kMap);
    summary.arguments.resize(4);
    summary.arguments[0].kind = ArgKind::kPipe;
    summary.arguments[1].kind = ArgKind::kGlobal;
    summary.whole_reason = "argument p is a pipe, which one device has";
    work.kernel = std::make_shared<FakeKernel>(
        std::move(summary),
        [](const FakeItem& item) {
          if (item.global_id[0] != 0) return;
          auto& count = item.memory(0)[0];
          count = std::byte(std::to_integer<int>(count) + 1);
          item.memory(1)[0] = count;
        },
        set->count());
    return work;
  }
};

TEST_F(EnginePipes, KernelsRunWholeOnTheHomeAndFindWhatIsThere) {
  start({kSharesHost, kOwnMemory, kSharesHost}, SplitMode::kForce);
  const auto made = pipe(1);
  ASSERT_TRUE(made);
  const auto out = buffer(0);
  auto stream = engine->create_stream({});
  const KernelWork work = counting(*made, out);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(enqueue(*stream, work));
  EXPECT_EQ(read(*stream, out)[0], std::byte(std::to_integer<int>(fakes[1]->unwritten()) + 3));
  EXPECT_EQ(fakes[1]->launches, 3u);
  EXPECT_EQ(fakes[0]->launches + fakes[2]->launches, 0u);
  // Its packets never travel.
  EXPECT_EQ(fakes[1]->bytes_out, kBytes);
  EXPECT_TRUE((*made)->valid_only_at((*made)->place_on(1), 0, kBytes));
}

TEST_F(EnginePipes, AHomeThatSharesTheHostsMemoryKeepsThemToItself) {
  start({kSharesHost, kSharesHost}, SplitMode::kForce);
  const auto made = pipe(0);
  ASSERT_TRUE(made);
  EXPECT_NE((*made)->place_on(0), kHostPlace);
  const auto out = buffer(0);
  auto stream = engine->create_stream({});
  const KernelWork work = counting(*made, out);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(enqueue(*stream, work));
  EXPECT_EQ(read(*stream, out)[0], std::byte(std::to_integer<int>(fakes[0]->unwritten()) + 2));
  EXPECT_EQ(fakes[1]->launches, 0u);
}

TEST_F(EnginePipes, WhatWasInOneIsLostWithItsHome) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const auto made = pipe(0);
  ASSERT_TRUE(made);
  const auto out = buffer(0);
  auto stream = engine->create_stream({});
  const KernelWork work = counting(*made, out);
  ASSERT_TRUE(enqueue(*stream, work));
  read(*stream, out);
  fakes[0]->context_lost = true;
  for (int i = 0; i < 2; ++i) {  // also when the device has begun anew
    const auto command = enqueue(*stream, work);
    static_cast<void>(engine->finish(*stream));
    EXPECT_TRUE(!command || (*command)->status() < CL_COMPLETE);
  }
  EXPECT_EQ(fakes[1]->launches, 0u);
}

TEST_F(EnginePipes, KernelsWithAQueueOnADeviceRunThere) {
  start({kSharesHost, kOwnMemory, kSharesHost}, SplitMode::kForce);
  const auto queue = fakes[1]->create_device_queue({});
  ASSERT_TRUE(queue);
  const auto in = buffer(7), out = buffer(0);
  KernelWork work = map_kernel(in, out, 1);
  auto arguments = std::make_shared<ArgumentSet>(*work.arguments);
  ArgumentSlot& slot = arguments->emplace_back();
  slot.kind = ArgumentSlot::Kind::kQueue;
  slot.queue = *queue;
  slot.home = 1;
  work.arguments = arguments;
  auto stream = engine->create_stream({});
  ASSERT_TRUE(enqueue(*stream, work));
  EXPECT_EQ(read(*stream, out), filled(7 * 3 + 1));
  EXPECT_EQ(fakes[1]->launches, 1u);
  EXPECT_EQ(fakes[0]->launches + fakes[2]->launches, 0u);
}

TEST_F(EnginePipes, ADeviceWithoutPipesMakesNone) {
  start({kOwnMemory, kNarrowOffsets}, SplitMode::kAuto);
  const auto made = pipe(1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, CL_INVALID_OPERATION);
}

}  // namespace
}  // namespace tutti::testing
