// SPDX-License-Identifier: Apache-2.0
// The host's copies of large buffers are pinned where a device gains by it.
#include "engine_fixture.h"
#include "scheduler/devices/pinned_pool.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EnginePinned : public EngineTest {
 protected:
  static constexpr uint64_t kLarge = 3 << 20;
  Ref<LogicalBuffer> sized(uint64_t size, bool for_application = true) {
    LogicalBuffer::Options options;
    options.size = size;
    options.host_now = for_application;
    return *LogicalBuffer::create(*set, options);
  }
};

TEST_F(EnginePinned, LargeHostCopiesArePinnedAndTheirMemoryUsedAgain) {
  start({kSharesHost, kOwnMemory, kPins}, SplitMode::kAuto);
  auto first = sized(kLarge + 5);
  EXPECT_EQ(fakes[2]->pins, 1u);
  std::byte* const memory = *first->host_memory();
  std::memset(memory, 1, kLarge + 5);
  first = nullptr;
  EXPECT_EQ(fakes[2]->unpins, 0u);
  auto second = sized(kLarge);
  EXPECT_EQ(*second->host_memory(), memory);
  auto third = sized(kLarge);
  EXPECT_EQ(fakes[2]->pins, 2u);
  EXPECT_NE(*third->host_memory(), memory);
}

TEST_F(EnginePinned, SmallOnesAndTheUsersAreNot) {
  start({kSharesHost, kOwnMemory, kPins}, SplitMode::kAuto);
  auto small = sized(4096, false);
  ASSERT_TRUE(small->host_memory());
  std::vector<std::byte> user(kLarge);
  LogicalBuffer::Options options;
  options.size = kLarge;
  options.user_memory = user.data();
  auto users = *LogicalBuffer::create(*set, options);
  EXPECT_EQ(*users->host_memory(), user.data());
  EXPECT_EQ(fakes[2]->pins, 0u);
}

TEST_F(EnginePinned, WhatTheApplicationWantsAtTheHostIsWhateverItsSize) {
  start({kSharesHost, kOwnMemory, kPins}, SplitMode::kAuto);
  auto small = sized(4);
  EXPECT_EQ(fakes[2]->pins, 1u);
  std::memset(*small->host_memory(), 1, 4);
}

TEST_F(EnginePinned, ASmallPartOfAVeryLargeOneIsNotWorthIt) {
  start({kPins}, SplitMode::kAuto);
  LogicalBuffer::Options options;
  options.size = uint64_t{64} << 20;
  const auto part = *LogicalBuffer::create(*set, options);
  ASSERT_TRUE(part->host_memory(4096));
  EXPECT_EQ(fakes[0]->pins, 0u);
  const auto most = *LogicalBuffer::create(*set, options);
  ASSERT_TRUE(most->host_memory(options.size / 32));
  EXPECT_EQ(fakes[0]->pins, 1u);
}

TEST_F(EnginePinned, WithoutSuchADeviceMemoryIsPlain) {
  start({kSharesHost, kOwnMemory}, SplitMode::kAuto);
  auto buffer = sized(kLarge);
  std::memset(*buffer->host_memory(), 1, kLarge);
  EXPECT_EQ(fakes[1]->pins, 0u);
}

TEST_F(EnginePinned, ThePoolKeepsToItsLimit) {
  start({kPins}, SplitMode::kAuto);
  PinnedPool pool(1000);
  DeviceMemory counted;
  auto first = pool.take(*fakes[0], counted, 600);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool.take(*fakes[0], counted, 600));
  EXPECT_TRUE(pool.take(*fakes[0], counted, 300));
  pool.give_back(std::move(first));
  EXPECT_FALSE(pool.take(*fakes[0], counted, 200));  // the block of 600 waits for larger ones
  EXPECT_TRUE(pool.take(*fakes[0], counted, 500));
}

TEST_F(EnginePinned, IsCountedOnTheDeviceThatPins) {
  constexpr uint64_t kHalfOfAll = uint64_t{600} << 20;  // more than the pool keeps
  start({kPins}, SplitMode::kAuto);
  PinnedPool pool(UINT64_MAX);
  DeviceMemory counted;
  counted.set_capacity(4 * kHalfOfAll);
  EXPECT_FALSE(pool.take(*fakes[0], counted, kHalfOfAll + 4096));  // a quarter at most
  auto first = pool.take(*fakes[0], counted, kHalfOfAll);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool.take(*fakes[0], counted, 4096));
  EXPECT_FALSE(counted.has_room(3 * kHalfOfAll + 1));
  EXPECT_TRUE(counted.has_room(3 * kHalfOfAll));
  pool.give_back(std::move(first));
  EXPECT_EQ(fakes[0]->unpins, 1u);
  EXPECT_TRUE(counted.has_room(4 * kHalfOfAll));
  // What the driver refuses is not counted.
  fakes[0]->memory_left = 100;
  EXPECT_FALSE(pool.take(*fakes[0], counted, kHalfOfAll));
  EXPECT_TRUE(counted.has_room(4 * kHalfOfAll));
}

}  // namespace
}  // namespace tutti::testing
