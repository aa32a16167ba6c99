// SPDX-License-Identifier: Apache-2.0
// Launches that run whole move what they touch, not all that their arguments show.
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineRanges : public EngineTest {
 protected:
  /// One work-group, which is never split: out[first … first + 16) = in[…] * 3 + 1.
  KernelWork one_group(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                       uint64_t first) {
    KernelWork work = map_kernel(in, out, 1);
    work.shape.offset[0] = first;
    work.shape.global[0] = kGroup;
    return work;
  }
  uint64_t moved() const {
    uint64_t sum = 0;
    for (const FakeBackend* fake : fakes) sum += fake->bytes_in + fake->bytes_out;
    return sum;
  }
};

TEST_F(EngineRanges, OfADividedBufferOnlyWhatIsRead) {
  for (const bool out_of_order : {false, true}) {
    start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
    auto stream = engine->create_stream({.out_of_order = out_of_order});
    auto a = buffer(1), divided = buffer(0), result = buffer(9);
    for (uint64_t first = 0; first < kBytes; first += 1000) {
      auto before = *enqueue(*stream, map_kernel(a, divided, 1));
      ASSERT_TRUE(engine->finish(*stream));
      const uint64_t moved_before = moved();
      ASSERT_TRUE(enqueue(*stream, one_group(divided, result, first), {before.get()}));
      ASSERT_TRUE(engine->finish(*stream));
      // What is overwritten does not move; what is read may go by way of the host.
      EXPECT_LE(moved() - moved_before, 2 * kGroup) << first;
      EXPECT_EQ(read(*stream, result), with_group(filled(9), first, 13)) << first;
      EXPECT_EQ(read(*stream, divided), filled(4));
      ASSERT_TRUE(enqueue(*stream, FillWork{whole(result), 0, kBytes, {std::byte{9}}, 1}));
      ASSERT_TRUE(engine->finish(*stream));
    }
  }
}

TEST_F(EngineRanges, WhatIsLeftAloneStaysWhereItIs) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto a = buffer(1), divided = buffer(0);
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, divided, 1)));
  std::vector<std::byte> expected = filled(4);
  for (const uint64_t first : {0, 1000, 2040, 4080}) {
    ASSERT_TRUE(engine->finish(*stream));
    const uint64_t moved_before = moved();
    ASSERT_TRUE(enqueue(*stream, one_group(divided, divided, first)));
    ASSERT_TRUE(engine->finish(*stream));
    EXPECT_LE(moved() - moved_before, 2 * kGroup) << first;
    expected = with_group(expected, first, 13);
  }
  EXPECT_EQ(read(*stream, divided), expected);
}

TEST_F(EngineRanges, AllThatTheArgumentsShowWhereTheKernelIsNotUnderstood) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto a = buffer(1), divided = buffer(0), result = buffer(9);
  for (const bool reason : {true, false}) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, divided, 1)));
    KernelWork work = one_group(divided, result, 0);
    KernelSummary summary = summary_of(KernelForm::kMap);
    // Its loads are not in the summary, or depend on a local size that the vendor chooses.
    if (reason) {
      summary.whole_reason = "does what nobody knows";
      summary.accesses.clear();
    } else {
      summary.exprs.emplace_back().kind = ExprKind::kLocalSize;
      summary.accesses.erase(summary.accesses.begin());
      work.local_given = false;
      work.shape.local[0] = 1;
    }
    const auto function = [](const FakeItem& item) {
      const size_t i = item.global_id[0];
      item.memory(1)[i] = item.memory(0)[kBytes - 1 - i];
    };
    work.kernel = std::make_shared<FakeKernel>(summary, function, set->count());
    ASSERT_TRUE(enqueue(*stream, work));
    EXPECT_EQ(read(*stream, result), with_group(filled(9), 0, 4)) << reason;
  }
}

}  // namespace
}  // namespace tutti::testing
