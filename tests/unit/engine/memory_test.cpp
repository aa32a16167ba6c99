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

/// A device that does something else while it is asked for memory.
class BusyAllocating : public FakeBackend {
 public:
  BusyAllocating() : FakeBackend(0, kOwnMemory) {}
  Result<std::unique_ptr<backends::Memory>> allocate(uint64_t size, void* host) override {
    if (const auto act = std::exchange(meanwhile, nullptr)) act();
    return FakeBackend::allocate(size, host);
  }
  std::function<void()> meanwhile;
};

TEST_F(EngineMemory, WhatTheVendorRefusesWasNeverThere) {
  BusyAllocating device;
  device.memory_left = kBytes;
  DeviceMemory memory;
  const auto first = make_ref<MemoryOwner>(kBytes), second = make_ref<MemoryOwner>(kBytes);
  std::unique_ptr<backends::Memory> kept;
  device.meanwhile = [&] { kept = *memory.allocate(device, kBytes, *second); };
  EXPECT_FALSE(memory.allocate(device, kBytes, *first));
  EXPECT_EQ(memory.peak(), kBytes);
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

// Kernels, and all else that goes to devices, over more buffers than fit.
class EngineMemoryLimit : public EngineMemory {
 protected:
  static constexpr uint64_t kFit = 3;
  static constexpr uint64_t kRow = 64;

  struct Content {
    Ref<LogicalBuffer> buffer;
    std::vector<std::byte> bytes;
  };
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random() % end); }

  void change(Stream& stream, Content& from, Content& to) {
    const auto value = static_cast<uint8_t>(random());
    const uint64_t at = below(2) * kBytes / 2, size = below(2) ? kBytes - at : kBytes / 4;
    const auto offset = static_cast<ptrdiff_t>(at), end = static_cast<ptrdiff_t>(at + size);
    if (to.buffer->image()) return change_image(stream, from, to, value);
    switch (below(5)) {
      case 0: {
        ASSERT_TRUE(enqueue(stream, map_kernel(from.buffer, to.buffer, value)));
        const auto before = from.bytes;
        for (size_t i = 0; i < kBytes; ++i) {
          to.bytes[i] = std::byte(std::to_integer<int>(before[i]) * 3 + value);
        }
        return;
      }
      case 1: {
        if (from.buffer == to.buffer) return;
        ASSERT_TRUE(enqueue(stream, CopyWork{whole(from.buffer), whole(to.buffer), at, at, size}));
        std::copy(from.bytes.begin() + offset, from.bytes.begin() + end, to.bytes.begin() + offset);
        return;
      }
      case 2: {
        ASSERT_TRUE(enqueue(stream, FillWork{whole(to.buffer), at, size, {std::byte{value}}, 1}));
        std::fill(to.bytes.begin() + offset, to.bytes.begin() + end, std::byte{value});
        return;
      }
      case 3: {
        const std::vector<std::byte> bytes(size, std::byte{value});
        ASSERT_TRUE(enqueue(stream, WriteWork{whole(to.buffer), at, size, bytes.data()}, {}, true));
        std::copy(bytes.begin(), bytes.end(), to.bytes.begin() + offset);
        return;
      }
      default: {
        if (from.buffer == to.buffer) return;
        CopyRectWork rows{whole(from.buffer), whole(to.buffer), {}, {}, {kRow / 2, 8, 1}};
        rows.from_rect = rows.to_rect = {{0, 0, 0}, kRow, kBytes};
        ASSERT_TRUE(enqueue(stream, rows));
        for (size_t y = 0; y < 8; ++y) {
          std::copy_n(from.bytes.begin() + static_cast<ptrdiff_t>(y * kRow), kRow / 2,
                      to.bytes.begin() + static_cast<ptrdiff_t>(y * kRow));
        }
      }
    }
  }

  void change_image(Stream& stream, Content& from, Content& to, uint8_t value) {
    const size_t rows = below(2) ? kBytes / kRow : 8;
    const auto end = static_cast<ptrdiff_t>(rows * kRow);
    const backends::Rect rect{{0, 0, 0}, kRow, kBytes};
    switch (below(3)) {
      case 0: {
        FillImageWork work{whole(to.buffer), nullptr, {{0, 0, 0}, {kRow / 4, rows, 1}}};
        work.color.fill(std::byte{value});
        ASSERT_TRUE(enqueue(stream, work));
        std::fill(to.bytes.begin(), to.bytes.begin() + end, std::byte{value});
        return;
      }
      case 1: {
        std::vector<std::byte> bytes(kBytes, std::byte{value});
        ASSERT_TRUE(enqueue(
            stream, RectWork{true, whole(to.buffer), rect, rect, {kRow, rows, 1}, bytes.data()}, {},
            true));
        std::fill(to.bytes.begin(), to.bytes.begin() + end, std::byte{value});
        return;
      }
      default: {
        if (from.buffer == to.buffer) return;
        ASSERT_TRUE(enqueue(
            stream,
            CopyRectWork{whole(from.buffer), whole(to.buffer), rect, rect, {kRow, rows, 1}}));
        std::copy(from.bytes.begin(), from.bytes.begin() + end, to.bytes.begin());
      }
    }
  }

  void check(const FakeKinds& devices, SplitMode split) {
    start(devices, split, kFit * kBytes);
    std::vector<Content> contents;
    for (uint8_t i = 0; i < 8; ++i) {
      const bool is_image = i >= 5;
      contents.push_back({is_image ? image({kRow / 4, kBytes / kRow, 1}) : buffer(i), filled(i)});
      if (!is_image) continue;
      std::fill_n(*contents.back().buffer->host_memory(), kBytes, std::byte{i});
      contents.back().buffer->set_exclusive(kHostPlace, 0, kBytes);
    }
    const auto stream = engine->create_stream({});
    for (int step = 0; step < 400; ++step) {
      change(*stream, contents[below(8)], contents[below(8)]);
      if (below(8) == 0) {
        ASSERT_TRUE(engine->finish(*stream));
      }
    }
    ASSERT_TRUE(engine->finish(*stream));
    for (size_t i = 0; i < contents.size(); ++i) {
      ASSERT_TRUE(contents[i].buffer->make_valid(kHostPlace, 0, kBytes));
      const std::byte* const host = *contents[i].buffer->host_memory();
      EXPECT_TRUE(std::equal(contents[i].bytes.begin(), contents[i].bytes.end(), host)) << i;
    }
    for (uint32_t i = 0; i < set->count(); ++i) {
      EXPECT_LE(set->memory(i).peak(), kFit * kBytes) << "device " << i;
    }
  }
  std::minstd_rand random{11};
};

TEST_F(EngineMemoryLimit, IsKeptOnOneDevice) { check({kOwnMemory}, SplitMode::kAuto); }
TEST_F(EngineMemoryLimit, IsKeptOnTwoDevices) {
  check({kOwnMemory, kOwnMemory}, SplitMode::kForce);
}
TEST_F(EngineMemoryLimit, IsKeptBesideADeviceInTheHostsMemory) {
  check({kOwnMemory, kSharesHost}, SplitMode::kAuto);
}

TEST_F(EngineMemoryLimit, ACopyIsMadeInTheHostsCopyWhereTheDeviceHasNoRoom) {
  start({kOwnMemory}, SplitMode::kAuto, 2 * kBytes);
  auto a = buffer(1), b = buffer(0), c = buffer(0);
  run(a, b);
  auto stream = engine->create_stream({});
  ASSERT_TRUE(enqueue(*stream, CopyWork{whole(b), whole(c), 0, 0, kBytes}));
  ASSERT_TRUE(engine->finish(*stream));
  EXPECT_FALSE(c->has_memory(0));
  EXPECT_TRUE(a->has_memory(0));
  EXPECT_EQ(read(*stream, c), filled(4));
  EXPECT_EQ(set->memory(0).peak(), 2 * kBytes);
}

// Only a device can fill an image.
TEST_F(EngineMemoryLimit, AnImageIsFilledOnceThereIsRoom) {
  start({kOwnMemory}, SplitMode::kAuto, 2 * kBytes);
  auto a = buffer(1), b = buffer(0), pixels = image({16, 64, 1});
  std::atomic<bool> goes_on{false};
  auto first = engine->create_stream({}), second = engine->create_stream({});
  ASSERT_TRUE(enqueue(*first, known_kernel(KernelForm::kMap, a, b, 1e-3, [&](const FakeItem& item) {
    goes_on.wait(false);
    run_item(KernelForm::kMap, item);
  })));
  ASSERT_TRUE(engine->flush(*first));
  FillImageWork work{whole(pixels), nullptr, {{0, 0, 0}, {16, 64, 1}}};
  work.color.fill(std::byte{5});
  const auto filling = enqueue(*second, work);
  ASSERT_TRUE(filling);
  EXPECT_GT((*filling)->status(), CL_COMPLETE);
  goes_on = true;
  goes_on.notify_all();
  ASSERT_TRUE(engine->finish(*second));
  ASSERT_TRUE(pixels->make_valid(kHostPlace, 0, kBytes));
  EXPECT_EQ((*pixels->host_memory())[kBytes - 1], std::byte{5});
  EXPECT_EQ(read(*first, b), filled(4));
  EXPECT_LE(set->memory(0).peak(), 2 * kBytes);
}

TEST_F(EngineMemoryLimit, WhatAFailedDeviceLeavesGetsRoomOnAnotherOne) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever, 2 * kBytes);
  auto a = buffer(1), b = buffer(0), other = buffer(2), another = buffer(3);
  for (const auto& one : {other, another}) {
    ASSERT_TRUE(one->make_valid(set->place(1), 0, kBytes));
    one->set_exclusive(set->place(1), 0, kBytes);
  }
  fakes[0]->refuse_launches = 100;
  run(a, b);
  EXPECT_GT(fakes[1]->launches, 0u);
  auto stream = engine->create_stream({});
  EXPECT_EQ(read(*stream, b), filled(4));
  EXPECT_EQ(read(*stream, other), filled(2));
  EXPECT_EQ(read(*stream, another), filled(3));
  EXPECT_LE(set->memory(1).peak(), 2 * kBytes);
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
