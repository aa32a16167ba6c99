// SPDX-License-Identifier: Apache-2.0
// Kernels whose stores scatter: each device changes a copy, and the changes are taken over.
#include <algorithm>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

using EngineDiff = EngineTest;

// Of memory that was never written each device's copy holds something else, which may be what the
// kernel writes there.
TEST_F(EngineDiff, WhatWasNeverWrittenIsTakenOverToo) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kForce);
    auto stream = engine->create_stream({});
    std::vector<std::byte> content(kBytes);
    for (size_t i = 0; i < kBytes; ++i) {
      // c = 1 is added.
      content[i] = std::byte(std::to_integer<uint8_t>(fakes[i % fakes.size()]->unwritten()) - 1);
    }
    LogicalBuffer::Options options;
    options.size = kBytes;
    auto in = *engine->create_buffer(options, content.data());
    for (int round = 0; round < 5; ++round) {
      auto out = *engine->create_buffer(options, nullptr);
      KernelWork work = map_kernel(in, out, 1);
      work.kernel = fake_kernel(KernelForm::kScatter, set->count());
      ASSERT_TRUE(enqueue(*stream, work));
      std::vector<std::byte> expected(kBytes);
      for (uint32_t i = 0; i < kBytes; ++i) {
        apply(KernelForm::kScatter, content.data(), expected.data(), i, kBytes, 1);
      }
      EXPECT_EQ(read(*stream, out), expected);
    }
    for (const FakeBackend* fake : fakes) EXPECT_GT(fake->launches, 0u);
  }
}

// Copies are compared from an aligned byte on. What lies before the region others may be writing.
TEST_F(EngineDiff, WhatLiesBeforeTheRegionIsLeftAlone) {
  constexpr uint32_t kBegin = 131, kSize = 2048;
  const auto content = filled(1);
  auto expected = filled(9);
  for (uint32_t i = 0; i < kSize; ++i) {
    apply(KernelForm::kScatter, content.data(), expected.data() + kBegin, i, kSize, 1);
  }
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory, kOwnMemory}, {kCostlyTimes, kCostlyTimes}, {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kForce);
    auto stream = engine->create_stream({});
    const auto in = buffer(1);
    const auto all_have_computed = [this] {
      return std::ranges::all_of(fakes, [](const FakeBackend* fake) { return fake->launches > 0; });
    };
    // Who is first may take the other one's part as well.
    for (int round = 0; round < 500 && (round == 0 || !all_have_computed()); ++round) {
      const auto out = buffer(9);
      KernelWork work = map_kernel(in, out, 1);
      work.kernel = fake_kernel(KernelForm::kScatter, set->count());
      auto arguments = std::make_shared<ArgumentSet>(*work.arguments);
      (*arguments)[0].view = {in, 0, kSize};
      (*arguments)[1].view = {out, kBegin, kSize};
      std::memcpy((*arguments)[2].bytes.data(), &kSize, sizeof kSize);
      work.arguments = arguments;
      work.shape.global[0] = kSize;
      ASSERT_TRUE(enqueue(*stream, work));
      ASSERT_TRUE(engine->finish(*stream));
      EXPECT_EQ(out->valid_places(kBegin - 3, kBegin), place_bit(kHostPlace));
      EXPECT_EQ(read(*stream, out), expected);
    }
    EXPECT_TRUE(all_have_computed());
  }
}

}  // namespace
}  // namespace tutti::testing
