// SPDX-License-Identifier: Apache-2.0
// Devices with little memory: what goes, what stays, what fails. (That contents stay right, also
// with several streams, is shown by the "_full" cases of engine_property_test.cpp.)
#include <random>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineMemory : public EngineTest {
 protected:
  void run(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    auto stream = engine->create_stream({});
    EXPECT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
    EXPECT_TRUE(engine->finish(*stream));
  }
};

TEST_F(EngineMemory, WhatWasUsedLongestAgoGoesBackToTheHost) {
  start({kOwnMemory}, SplitMode::kAuto, 4 * kBytes);
  auto a = buffer(1), b = buffer(0), c = buffer(0), d = buffer(0), e = buffer(0);
  run(a, b);  // 4
  run(b, c);  // 13
  run(a, d);
  for (const auto& one : {a, b, c, d}) EXPECT_TRUE(one->has_memory(0));
  run(a, e);
  EXPECT_FALSE(b->has_memory(0));
  for (const auto& one : {a, c, d, e}) EXPECT_TRUE(one->has_memory(0));
  auto stream = engine->create_stream({});
  EXPECT_EQ(read(*stream, b), filled(4));
  EXPECT_EQ(read(*stream, c), filled(13));
  EXPECT_EQ(read(*stream, e), filled(4));
}

TEST_F(EngineMemory, CopiesThatAreValidElsewhereDoNotTravel) {
  start({kOwnMemory}, SplitMode::kAuto, 3 * kBytes);
  auto a = buffer(1), b = buffer(0), c = buffer(2);
  run(a, b);
  const uint64_t out = fakes[0]->bytes_out;
  run(c, b);  // `a` stays: there is room
  auto d = buffer(3);
  run(d, b);  // `a` goes: the host has it
  EXPECT_FALSE(a->has_memory(0));
  EXPECT_EQ(fakes[0]->bytes_out, out);
}

TEST_F(EngineMemory, AVendorThatHasLessThanItSaysIsBelieved) {
  start({kOwnMemory}, SplitMode::kAuto);
  fakes[0]->memory_left = 2 * kBytes;
  auto a = buffer(1), b = buffer(0), c = buffer(0);
  run(a, b);
  run(b, c);
  EXPECT_FALSE(a->has_memory(0));
  auto stream = engine->create_stream({});
  EXPECT_EQ(read(*stream, c), filled(13));
}

TEST_F(EngineMemory, WhatIsEvictedIsNotPinnedOnTheFullDevice) {
  constexpr uint64_t kLarge = 1 << 20;
  start({kPins}, SplitMode::kAuto, 3 * kLarge);
  fakes[0]->memory_left = 3 * kLarge;
  auto stream = engine->create_stream({});
  LogicalBuffer::Options options;
  options.size = kLarge;
  std::vector<Ref<LogicalBuffer>> buffers;
  for (int i = 0; i < 5; ++i) {
    const std::vector<std::byte> content(kLarge, std::byte(i));
    buffers.push_back(*engine->create_buffer(options, content.data()));
    run(buffers.back(), buffer(0));
    EXPECT_TRUE(buffers.back()->has_memory(0));
  }
  EXPECT_EQ(fakes[0]->pins, 0u);
  for (int i = 0; i < 5; ++i) {
    std::vector<std::byte> found(kLarge);
    ASSERT_TRUE(
        enqueue(*stream, ReadWork{{buffers[i], 0, kLarge}, 0, kLarge, found.data()}, {}, true));
    EXPECT_TRUE(found == std::vector<std::byte>(kLarge, std::byte(i)));
  }
}

TEST_F(EngineMemory, ADeviceThatIsTooSmallTakesNoPart) {
  start({kOwnMemory}, SplitMode::kAuto, 2 * kBytes - 1);
  auto a = buffer(1), b = buffer(0);
  auto stream = engine->create_stream({});
  const auto refused = enqueue(*stream, map_kernel(a, b, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  engine.reset();
  fakes.clear();
  start({kOwnMemory, kSharesHost}, SplitMode::kForce, 2 * kBytes - 1);
  auto c = buffer(1), d = buffer(0);
  run(c, d);
  EXPECT_EQ(fakes[0]->launches, 0u);
  EXPECT_GT(fakes[1]->launches, 0u);
  // One buffer in two arguments is there once.
  run(c, c);
  EXPECT_GT(fakes[0]->launches + fakes[1]->launches, 1u);
}

TEST_F(EngineMemory, AllocationsAreKeptForTheNextBuffer) {
  start({kOwnMemory}, SplitMode::kAuto, 16 << 20);
  auto stream = engine->create_stream({});
  LogicalBuffer::Options options;
  options.size = 1 << 20;
  const std::vector<std::byte> content(options.size, std::byte{7});
  for (int i = 0; i < 10; ++i) {
    const BufferView one{*engine->create_buffer(options, content.data()), 0, options.size};
    ASSERT_TRUE(one.buffer->device_memory(0));
  }
  EXPECT_EQ(fakes[0]->allocations, 1u);
  // A sixteenth is kept at most: of two, one.
  {
    const auto first = *LogicalBuffer::create(*set, options);
    const auto second = *LogicalBuffer::create(*set, options);
    ASSERT_TRUE(first->device_memory(0));
    ASSERT_TRUE(second->device_memory(0));
  }
  EXPECT_EQ(fakes[0]->allocations, 2u);
  const auto first = *LogicalBuffer::create(*set, options);
  const auto second = *LogicalBuffer::create(*set, options);
  ASSERT_TRUE(first->device_memory(0));
  ASSERT_TRUE(second->device_memory(0));
  EXPECT_EQ(fakes[0]->allocations, 3u);
}

// Packages of a launch that lie beside each other are shown at once, to the byte.
TEST_F(EngineMemory, WhatALaunchWroteBelongsToItsWriter) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const Place places[] = {set->place(0), set->place(1)};
  std::minstd_rand random(5);
  for (int round = 0; round < 200; ++round) {
    const auto b = buffer(1);
    for (const Place place : places) ASSERT_TRUE(b->make_valid(place, 0, kBytes));
    const int launch = 0;
    constexpr uint64_t kPeriod = 64;
    const uint64_t period = random() % 3 == 0 ? 0 : kPeriod;
    std::vector<Place> writer(kBytes, kHostPlace);
    uint64_t length = 0;
    for (uint64_t at = random() % 5; at < kPeriod; at += length + random() % 2) {
      length = std::min<uint64_t>(1 + random() % 12, kPeriod - at);
      const Place place = places[random() % 2];
      ByteStrips strips{.range = {at, at + length}};
      if (period != 0) {
        strips = {{at, kBytes - kPeriod + at + length}, static_cast<int64_t>(at), period, length};
        // Not all begin and end with a strip of their own.
        if (random() % 4 == 0) strips.range.begin += random() % (2 * kPeriod);
        if (random() % 4 == 0) strips.range.end -= random() % (2 * kPeriod);
      }
      b->begin_write(&launch, place, strips);
      strips.for_each([&](uint64_t begin, uint64_t end) {
        std::fill(writer.begin() + static_cast<ptrdiff_t>(begin),
                  writer.begin() + static_cast<ptrdiff_t>(end), place);
      });
    }
    b->end_writes(&launch);
    for (uint64_t byte = 0; byte < kBytes; ++byte) {
      for (const Place place : {kHostPlace, places[0], places[1]}) {
        const bool expected = writer[byte] == kHostPlace || writer[byte] == place;
        ASSERT_EQ(b->valid_at(place, byte, byte + 1), expected) << round << ", byte " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::testing
