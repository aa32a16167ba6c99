// SPDX-License-Identifier: Apache-2.0
// Devices with memory for parts of buffers: what a share needs, what it grows to, what stays valid,
// and devices that are too small for all. (Random programs with shards are in
// engine_property_test.cpp.)
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class Shards : public EngineTest {
 protected:
  Shards() {
    shards = ShardMode::kAlways;
    shard_unit = 64;
  }
  void launch(Stream& stream, KernelWork work) {
    const auto command = enqueue(stream, std::move(work));
    ASSERT_TRUE(command) << command.error().message;
    ASSERT_TRUE(engine->finish(stream));
    EXPECT_EQ((*command)->status(), CL_COMPLETE);
  }
  KernelWork kernel(KernelForm form, const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    for (FakeBackend* fake : fakes) fake->measured_ns = 5'000'000;
    return known_kernel(form, in, out, 1e-2,
                        [form](const FakeItem& item) { run_item(form, item); });
  }
  /// A scatter of which it is not known what it does.
  KernelWork whole_kernel(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    KernelSummary summary = summary_of(KernelForm::kScatter);
    summary.whole_reason = "does what nobody knows";
    KernelWork work = kernel(KernelForm::kScatter, in, out);
    work.kernel = std::make_shared<FakeKernel>(
        summary, [](const FakeItem& item) { run_item(KernelForm::kScatter, item); }, set->count());
    return work;
  }
  static uint64_t bytes_on(const Ref<LogicalBuffer>& buffer, uint32_t device) {
    return buffer->shard_range(device).size();
  }
  /// With room to grow.
  static constexpr uint64_t kHalf = kBytes / 2, kMost = kHalf + kHalf / 6;
};

TEST_F(Shards, ADeviceHasWhatItsShareTouches) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0);
  launch(*stream, kernel(KernelForm::kMap, in, out));
  EXPECT_EQ(read(*stream, out), filled(7));
  uint64_t all = 0;
  for (const uint32_t device : {0u, 1u}) {
    EXPECT_GE(bytes_on(in, device), kHalf / 2);
    EXPECT_LE(bytes_on(in, device), kMost);
    EXPECT_LE(bytes_on(out, device), kMost);
    all += bytes_on(out, device);
  }
  EXPECT_GE(all, kBytes);
}

TEST_F(Shards, WhatIsReadAnywhereIsThereWhole) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0);
  launch(*stream, kernel(KernelForm::kGather, in, out));
  EXPECT_EQ(read(*stream, out), filled(3));
  EXPECT_EQ(bytes_on(in, 0), kBytes);
  EXPECT_LE(bytes_on(out, 0), kMost);
}

TEST_F(Shards, WhereBoundariesMoveMemoryGrowsUntilItHoldsThemAll) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);  // each time with other shares
  auto stream = engine->create_stream({});
  const auto a = buffer(1), b = buffer(0);
  const auto there = kernel(KernelForm::kStencil, a, b), back = kernel(KernelForm::kStencil, b, a);
  const auto launches = [&](int count) {
    for (int i = 0; i < count; ++i) {
      launch(*stream, there);
      launch(*stream, back);
    }
    return fakes[0]->allocations + fakes[1]->allocations;
  };
  const uint32_t soon = launches(20);
  EXPECT_LT(soon, 40u);
  EXPECT_LE(launches(20), soon + 8);
  uint8_t expected = 1;  // 3 to the 80th
  for (int i = 0; i < 80; ++i) expected = static_cast<uint8_t>(expected * 3);
  EXPECT_EQ(read(*stream, a)[kBytes / 2], std::byte(expected));
}

TEST_F(Shards, AWholeLaunchGetsAllAndLosesNothing) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0), last = buffer(0);
  launch(*stream, kernel(KernelForm::kMap, in, out));
  EXPECT_LE(bytes_on(out, 0), kMost);
  launch(*stream, whole_kernel(out, last));
  EXPECT_EQ(read(*stream, last), filled(8));
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_TRUE(bytes_on(out, 0) == kBytes || bytes_on(out, 1) == kBytes);
}

TEST_F(Shards, WritesCopiesAndFillsMeetThem) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0), other = buffer(9);
  launch(*stream, kernel(KernelForm::kMap, in, out));
  std::vector<std::byte> expected = filled(7);
  const std::vector<std::byte> written(kHalf, std::byte{5});
  ASSERT_TRUE(enqueue(*stream, WriteWork{whole(out), kBytes / 4, kHalf, written.data()}, {}, true));
  std::copy(written.begin(), written.end(), expected.begin() + kBytes / 4);
  EXPECT_EQ(read(*stream, out), expected);
  ASSERT_TRUE(enqueue(*stream, CopyWork{whole(out), whole(other), 0, 0, kBytes}));
  EXPECT_EQ(read(*stream, other), expected);
  FillWork fill{whole(out), kBytes / 2 - 8, 16, {}, 4};
  ASSERT_TRUE(enqueue(*stream, fill));
  std::fill_n(expected.begin() + kBytes / 2 - 8, 16, std::byte{0});
  EXPECT_EQ(read(*stream, out), expected);
  launch(*stream, kernel(KernelForm::kMap, out, in));
  for (auto& byte : expected)
    byte = std::byte(static_cast<uint8_t>(std::to_integer<int>(byte) * 3 + 1));
  EXPECT_EQ(read(*stream, in), expected);
}

TEST_F(Shards, ADeviceTooSmallForAllHasItsShare) {
  shards = ShardMode::kNeeded;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto, kBytes + kBytes / 2);
  for (FakeBackend* fake : fakes) fake->memory_left = kBytes + kBytes / 2;
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0);
  launch(*stream, kernel(KernelForm::kMap, in, out));
  EXPECT_EQ(read(*stream, out), filled(7));
  for (const FakeBackend* fake : fakes) EXPECT_GT(fake->launches, 0u);
}

// Where none has memory for all, a shard that has to be elsewhere travels as a whole. What launches
// of so few bytes take is chance, so that each would be divided anew by it; over these links to
// move anything takes longer than all of a launch.
TEST_F(Shards, BoundariesStayWhereTheDataLie) {
  shards = ShardMode::kNeeded;
  start({kFar, kFar}, SplitMode::kAuto, kBytes + kBytes / 3);
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  const auto there = kernel(KernelForm::kMap, a, b), back = kernel(KernelForm::kMap, b, a);
  const auto moved = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) {
      launch(*stream, there);
      launch(*stream, back);
    }
    return set->memory(0).history().sums().reshaped.count +
           set->memory(1).history().sums().reshaped.count;
  };
  const uint64_t soon = moved(5);
  EXPECT_EQ(moved(20), soon);
}

TEST_F(Shards, ASmallDeviceHelpsALargeOne) {
  shards = ShardMode::kNeeded;
  start({kOwnMemory, kSharesHost}, SplitMode::kAuto, kBytes);
  fakes[0]->memory_left = kBytes;
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0);
  for (int i = 0; i < 3; ++i) launch(*stream, kernel(KernelForm::kMap, in, out));
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_GT(fakes[0]->launches, 0u);
  EXPECT_GT(fakes[1]->launches, 0u);
  EXPECT_LE(bytes_on(in, 0) + bytes_on(out, 0), kBytes);
}

TEST_F(Shards, WhatCannotBeDividedIsRefused) {
  shards = ShardMode::kNeeded;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto, kBytes + kBytes / 2);
  auto stream = engine->create_stream({});
  const auto refused = enqueue(*stream, whole_kernel(buffer(2), buffer(0)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(Shards, NeverMeansNever) {
  shards = ShardMode::kNever;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  const auto in = buffer(2), out = buffer(0);
  launch(*stream, kernel(KernelForm::kMap, in, out));
  EXPECT_EQ(bytes_on(out, 0), kBytes);
}

TEST_F(Shards, AShardWithoutContentGrowsInThePlaceOfTheOldOne) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const auto made = buffer(3);
  ASSERT_TRUE(made->reshape(0, {1024, 2048}));
  ASSERT_TRUE(made->reshape(0, {512, 3072}));
  EXPECT_EQ(set->memory(0).peak(), 2560u);
  ASSERT_TRUE(made->make_valid(made->place_on(0), 512, 1024));
  ASSERT_TRUE(made->reshape(0, {512, 3584}));
  EXPECT_EQ(set->memory(0).peak(), 2560u + 3072u);
}

TEST_F(Shards, AShardThatGrowsKeepsWhatIsValid) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const auto made = buffer(3);
  ASSERT_TRUE(made->reshape(0, {1024, 2048}));
  const Place place = made->place_on(0);
  EXPECT_FALSE(made->shard(0, 0, kBytes));
  EXPECT_FALSE(made->make_valid(place, 512, 1536));
  ASSERT_TRUE(made->make_valid(place, 1024, 2048));
  made->set_exclusive(place, 1024, 2048);
  const uint64_t out = fakes[0]->bytes_out;
  ASSERT_TRUE(made->reshape(0, {512, 3072}));
  EXPECT_EQ(fakes[0]->bytes_out, out);  // by a copy on the device
  EXPECT_TRUE(made->valid_only_at(place, 1024, 2048));
  // What is there alone and falls out goes to the host.
  ASSERT_TRUE(made->reshape(0, {1536, 3072}));
  EXPECT_TRUE(made->valid_only_at(kHostPlace, 1024, 1536));
  EXPECT_TRUE(made->valid_only_at(place, 1536, 2048));
  // Without room for two of them all goes by way of the host.
  fakes[0]->memory_left = 1024;
  ASSERT_TRUE(made->reshape(0, {1024, 3072}));
  ASSERT_TRUE(made->make_valid(kHostPlace, 0, kBytes));
  EXPECT_EQ(std::memcmp(*made->host_memory(), filled(3).data(), kBytes), 0);
}

}  // namespace
}  // namespace tutti::testing
