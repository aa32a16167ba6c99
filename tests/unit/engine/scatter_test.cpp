// SPDX-License-Identifier: Apache-2.0
// New content of a buffer goes where the old one was used.
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/clock.h"
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineScatter : public EngineTest {
 protected:
  static constexpr uint64_t kSize = 1 << 20, kHalf = kSize / 2;

  Ref<LogicalBuffer> large() {
    LogicalBuffer::Options options;
    options.size = kSize;
    return *LogicalBuffer::create(*set, options);
  }
  /// Writes [begin, end) with new content and compares what comes back.
  void write_and_check(const Ref<LogicalBuffer>& buffer, uint64_t begin, uint64_t end) {
    auto stream = engine->create_stream({});
    std::vector<std::byte> content(end - begin);
    for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte(i * 7 + i / 251);
    const uint64_t in = bytes_in();
    ASSERT_TRUE(enqueue(*stream, WriteWork{{buffer, 0, kSize}, begin, end - begin, content.data()},
                        {}, true));
    sent_ = bytes_in() - in;
    std::vector<std::byte> found(end - begin);
    ASSERT_TRUE(
        enqueue(*stream, ReadWork{{buffer, 0, kSize}, begin, end - begin, found.data()}, {}, true));
    EXPECT_TRUE(found == content);
  }
  uint64_t bytes_in() const {
    return std::accumulate(fakes.begin(), fakes.end(), uint64_t{0},
                           [](uint64_t sum, const auto* fake) { return sum + fake->bytes_in; });
  }
  uint64_t sent_ = 0;
};

TEST_F(EngineScatter, EachPartGoesToItsDevice) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto buffer = large();
  buffer->set_exclusive(1, 0, kHalf);
  buffer->set_exclusive(2, kHalf, kSize);
  const uint64_t first = fakes[0]->bytes_in, second = fakes[1]->bytes_in;
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(fakes[0]->bytes_in - first, kHalf);
  EXPECT_EQ(fakes[1]->bytes_in - second, kHalf);
  EXPECT_TRUE(buffer->valid_at(1, 0, kHalf));
  EXPECT_FALSE(buffer->valid_at(kHostPlace, 0, 1));
  EXPECT_TRUE(buffer->valid_at(2, kHalf, kSize));
  write_and_check(buffer, kHalf - 300000, kHalf + 300001);
  EXPECT_EQ(sent_, 600001u);
}

TEST_F(EngineScatter, FillsAreDoneWhereTheOldContentWasUsed) {
  // A pattern that lies across the border, from the second byte on.
  constexpr uint64_t kPattern = 8, kBegin = 2, kEnd = kSize - 6;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  auto buffer = large();
  FillWork fill{{buffer, 0, kSize}, 0, kSize, {}, 1};
  fill.pattern[0] = std::byte{99};
  ASSERT_TRUE(enqueue(*stream, fill, {}, true));
  ASSERT_TRUE(buffer->make_valid(1, 0, kHalf));
  ASSERT_TRUE(buffer->make_valid(2, kHalf, kSize));
  buffer->set_exclusive(1, 0, kHalf);
  buffer->set_exclusive(2, kHalf, kSize);
  const uint64_t in = bytes_in();
  fill.offset = kBegin;
  fill.size = kEnd - kBegin;
  fill.pattern_size = kPattern;
  for (size_t i = 0; i < kPattern; ++i) fill.pattern[i] = std::byte(i + 1);
  ASSERT_TRUE(enqueue(*stream, fill, {}, true));
  EXPECT_EQ(bytes_in(), in);
  EXPECT_TRUE(buffer->valid_at(1, 0, kHalf));
  EXPECT_TRUE(buffer->valid_at(2, kHalf, kSize));
  EXPECT_FALSE(buffer->valid_at(kHostPlace, kBegin, kEnd));
  std::vector<std::byte> found(kSize), expected(kSize, std::byte{99});
  for (uint64_t i = kBegin; i < kEnd; ++i) expected[i] = std::byte((i - kBegin) % kPattern + 1);
  ASSERT_TRUE(enqueue(*stream, ReadWork{{buffer, 0, kSize}, 0, kSize, found.data()}, {}, true));
  EXPECT_TRUE(found == expected);
}

TEST_F(EngineScatter, FirstContentGoesToAllGpus) {
  struct Case {
    FakeKinds devices;
    std::vector<Place> valid;
    uint64_t memory_limit = UINT64_MAX;
    int64_t memory_left = INT64_MAX;  // of the first device, as its driver finds
  };
  const Case cases[] = {
      {{kPins, kPins}, {1, 2}},
      {{kSharesHost, kPins, kPins}, {2, 3}},
      {{kPins}, {1}},
      {{kOwnMemory}, {1}},
      {{kSharesHost, kPins}, {2}},
      {{kSharesHost, kSharesHost, kPins}, {kHostPlace}},  // the host computes faster
      {{kOwnMemory, kOwnMemory}, {kHostPlace}},
      {{kSharesHost, kSharesHost}, {kHostPlace}},
      {{kPins, kPins}, {kHostPlace}, kSize / 2},
      {{kPins}, {kHostPlace}, UINT64_MAX, 100},
      {{kPins, kPins}, {2}, UINT64_MAX, 100}};
  const std::vector<std::byte> content(kSize, std::byte{5});
  const auto fill = [&](Stream& stream, const Ref<LogicalBuffer>& buffer) {
    return enqueue(stream, FillWork{{buffer, 0, kSize}, 0, kSize, {std::byte{5}}, 1}, {}, true);
  };
  const auto write = [&](Stream& stream, const Ref<LogicalBuffer>& buffer) {
    return enqueue(stream, WriteWork{{buffer, 0, kSize}, 0, kSize, content.data()}, {}, true);
  };
  const auto write_pixels = [&](Stream& stream, const Ref<LogicalBuffer>& image) {
    RectWork all{true, {image, 0, kSize}, {}, {}, {4096, kSize / 4096, 1}, nullptr};
    all.buffer_rect = all.host_rect = {{0, 0, 0}, 4096, 0};
    all.host = const_cast<std::byte*>(content.data());
    return enqueue(stream, all, {}, true);
  };
  for (const Case& one : cases) {
    for (const std::string kind : {"fill", "write", "made", "image written", "image made"}) {
      SCOPED_TRACE(kind + " on " + to_string(one.devices));
      const bool image = kind.starts_with("image");
      // Each device has memory of its own for images, which fake ones do not count.
      if (image && (contains(one.devices, kSharesHost) || one.memory_left != INT64_MAX)) {
        continue;
      }
      start(one.devices, SplitMode::kAuto, one.memory_limit);
      fakes[0]->memory_left = one.memory_left;
      LogicalBuffer::Options options;
      options.size = kSize;
      if (image) options.image = {.extent = {1024, kSize / 4096, 1}, .pixel_size = 4};
      if (image) options.image->row_pitch = 4096;
      auto stream = engine->create_stream({});
      const bool made = kind.ends_with("made");
      auto buffer = *engine->create_buffer(options, made ? content.data() : nullptr);
      const auto put = kind == "fill"            ? fill(*stream, buffer)
                       : kind == "write"         ? write(*stream, buffer)
                       : kind == "image written" ? write_pixels(*stream, buffer)
                                                 : Result<Ref<Command>>();
      ASSERT_TRUE(put);
      for (Place place = 0; place <= fakes.size(); ++place) {
        const bool valid = std::find(one.valid.begin(), one.valid.end(), place) != one.valid.end();
        EXPECT_EQ(buffer->valid_at(place, 0, kSize), valid) << "place " << place;
      }
      const bool at_host = one.valid.front() == kHostPlace;
      EXPECT_EQ(bytes_in(), at_host || kind == "fill" ? 0 : one.valid.size() * kSize);
      for (const FakeBackend* fake : fakes) EXPECT_TRUE(at_host || fake->pins == 0);
      std::vector<std::byte> found(kSize);
      if (!image) {
        ASSERT_TRUE(
            enqueue(*stream, ReadWork{{buffer, 0, kSize}, 0, kSize, found.data()}, {}, true));
        EXPECT_TRUE(found == content);
      } else {
        ASSERT_TRUE(buffer->make_valid(kHostPlace, 0, kSize));
        EXPECT_EQ(std::memcmp(*buffer->host_memory(), content.data(), kSize), 0);
      }
      buffer = {};
      stream = {};
      engine.reset();
    }
  }
}

TEST_F(EngineScatter, SmallCopiesAreMadeWhereOneDeviceUsesWhatTheyReplace) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  const auto one = buffer(1), two = buffer(2), in = buffer(0), out = buffer(0);
  KernelWork work = map_kernel(in, out, 7);
  work.kernel = fake_kernel(KernelForm::kMap, set->count());
  for (uint32_t device = 0; device < 2; ++device) {
    for (int run = 0; run < 2; ++run) {
      set->model().add(model_key(work), device, kBytes, device == 1 ? 1e-6 : 1);
    }
  }
  const auto copy_and_launch = [&](const Ref<LogicalBuffer>& from) {
    EXPECT_TRUE(enqueue(*stream, CopyWork{whole(from), whole(in), 0, 0, kBytes}, {}, false));
    EXPECT_TRUE(enqueue(*stream, KernelWork(work), {}, false));
  };
  EXPECT_TRUE(enqueue(*stream, KernelWork(work), {}, true));
  copy_and_launch(one);
  copy_and_launch(two);
  ASSERT_TRUE(engine->finish(*stream));
  const uint64_t sent = bytes_in();
  for (int i = 0; i < 20; ++i) {
    copy_and_launch(i % 2 == 0 ? one : two);
    std::vector<std::byte> found(kBytes);
    EXPECT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, kBytes, found.data()}, {}, true));
    EXPECT_EQ(found, filled(static_cast<uint8_t>((i % 2 == 0 ? 3 : 6) + 7)));
  }
  EXPECT_EQ(bytes_in(), sent);
  // New content of what they read goes there at once.
  const std::vector<std::byte> content(kBytes, std::byte{5});
  EXPECT_TRUE(enqueue(*stream, WriteWork{whole(one), 0, kBytes, content.data()}, {}, true));
  EXPECT_TRUE(one->valid_at(2, 0, kBytes));
  copy_and_launch(one);
  std::vector<std::byte> found(kBytes);
  EXPECT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, kBytes, found.data()}, {}, true));
  EXPECT_EQ(found, filled(5 * 3 + 7));
}

TEST_F(EngineScatter, MuchFirstContentIsDivided) {
  constexpr uint64_t kMuch = (10 << 20) + 5, kPitch = 4096 + 12;
  const std::vector<std::byte> content = [] {
    std::vector<std::byte> bytes(kMuch);
    for (size_t i = 0; i < kMuch; ++i) bytes[i] = std::byte(i * 7 + i / 251);
    return bytes;
  }();
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kPins, kPins}, {kSharesHost, kPins, kPins, kPins}, {kPins, kOwnMemory}}) {
    for (const std::string kind : {"made", "bit by bit", "image"}) {
      SCOPED_TRACE(kind + " on " + to_string(devices));
      start(devices, SplitMode::kAuto);
      LogicalBuffer::Options options;
      options.size = kind == "image" ? kMuch / kPitch * kPitch : kMuch;
      if (kind == "image") {
        if (devices != FakeKinds{kPins, kPins}) continue;
        options.image = {.extent = {kPitch / 4, kMuch / kPitch, 1}, .pixel_size = 4};
        options.image->row_pitch = kPitch;
      }
      auto stream = engine->create_stream({});
      auto buffer =
          *engine->create_buffer(options, kind == "bit by bit" ? nullptr : content.data());
      if (kind == "bit by bit") {
        constexpr uint64_t kBit = 3 << 20;
        for (uint64_t at = 0; at < kMuch; at += kBit) {
          const uint64_t size = std::min(kBit, kMuch - at);
          ASSERT_TRUE(enqueue(*stream, WriteWork{{buffer, 0, kMuch}, at, size, content.data() + at},
                              {}, true));
        }
      }
      EXPECT_EQ(bytes_in(), options.size);
      const auto gpus = static_cast<uint64_t>(std::count(devices.begin(), devices.end(), kPins));
      const uint64_t unit = kind == "image" ? kPitch : 4096;
      uint64_t begin = 0, part = 0;
      for (size_t i = 0; i < devices.size(); ++i) {
        if (devices[i] != kPins) continue;
        ++part;
        const uint64_t end = part == gpus ? options.size : options.size / unit * part / gpus * unit;
        EXPECT_EQ(buffer->valid_places(begin, end), place_bit(static_cast<Place>(i + 1)));
        begin = end;
      }
      ASSERT_TRUE(buffer->make_valid(kHostPlace, 0, options.size));
      EXPECT_EQ(std::memcmp(*buffer->host_memory(), content.data(), options.size), 0);
      buffer = {};
      stream = {};
      engine.reset();
    }
  }
}

TEST_F(EngineScatter, NobodyWaitsForASlowLink) {
  start({kPins, kPins, kPins}, SplitMode::kAuto);
  const std::vector<std::byte> content(kSize, std::byte{5});
  LogicalBuffer::Options options;
  options.size = kSize;
  const auto made_at = [&] {
    return (*engine->create_buffer(options, content.data()))->valid_places(0, kSize);
  };
  const auto note = [&] {
    set->note_write(0, uint64_t{1} << 40, now_ns() - 1'000'000'000);
    set->note_write(1, uint64_t{1} << 37, now_ns() - 1'000'000'000);
  };
  note();
  note();
  // Three times tell, of which this is the third; the last device's are not known yet.
  EXPECT_FALSE(set->slow_link(1));
  EXPECT_EQ(made_at(), place_bit(1) | place_bit(2) | place_bit(3));
  EXPECT_TRUE(set->slow_link(1));
  EXPECT_FALSE(set->slow_link(0));
  EXPECT_EQ(made_at(), place_bit(1) | place_bit(3));
  // Once it was fast.
  set->note_write(1, uint64_t{1} << 39, now_ns() - 1'000'000'000);
  EXPECT_FALSE(set->slow_link(1));
}

TEST_F(EngineScatter, ContentOfMappableOrSmallBuffersBeginsInTheHostsCopy) {
  start({kPins, kPins}, SplitMode::kAuto);
  const std::vector<std::byte> content(kSize, std::byte{5});
  LogicalBuffer::Options options;
  options.size = kSize;
  options.host_now = true;
  const auto mappable = *engine->create_buffer(options, content.data());
  EXPECT_EQ(mappable->valid_places(0, kSize), place_bit(kHostPlace));
  EXPECT_EQ(buffer(1)->valid_places(0, kBytes), place_bit(kHostPlace));
  EXPECT_EQ(bytes_in(), 0u);
}

TEST_F(EngineScatter, FirstContentWasTooMuchWhereNobodyUsedIt) {
  start({kPins, kPins}, SplitMode::kAuto);
  auto buffer = large();
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, 2 * kSize);
  // Nobody has used it yet.
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, 2 * kSize);
  buffer->note_use(1, 0, kHalf + 100);
  buffer->note_use(2, kHalf, kSize);
  for (int twice = 0; twice < 2; ++twice) {
    write_and_check(buffer, 0, kSize);
    EXPECT_EQ(sent_, kSize + 100);
    EXPECT_TRUE(buffer->valid_at(1, 0, kHalf + 100));
    EXPECT_FALSE(buffer->valid_at(1, kHalf + 100, kSize));
    EXPECT_TRUE(buffer->valid_at(2, kHalf, kSize));
  }
}

TEST_F(EngineScatter, LaunchesTellWhereDataAreUsed) {
  start({kPins, kPins}, SplitMode::kNever);
  const auto stream = engine->create_stream({});
  auto in = buffer(1), out = buffer(0);
  ASSERT_TRUE(in->make_valid(1, 0, kBytes));
  ASSERT_TRUE(in->make_valid(2, 0, kBytes));
  EXPECT_EQ(in->used_segments(0, kBytes).front().places, place_bit(1) | place_bit(2));
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  ASSERT_TRUE(engine->finish(*stream));
  const auto used = in->used_segments(0, kBytes);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used.front().places, out->valid_places(0, kBytes));
}

TEST_F(EngineScatter, WhatAllReadGoesToAll) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto buffer = large();
  buffer->set_exclusive(kHostPlace, 0, kSize);
  buffer->add_copy(1, 0, kSize);
  buffer->add_copy(2, 0, kSize);
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, 2 * kSize);
  EXPECT_TRUE(buffer->valid_at(1, 0, kSize));
  EXPECT_TRUE(buffer->valid_at(2, 0, kSize));
}

TEST_F(EngineScatter, TheHostsCopyOnlyWhereItIsUsed) {
  start({kSharesHost, kOwnMemory}, SplitMode::kAuto);
  auto buffer = large();
  buffer->set_exclusive(kHostPlace, 0, kSize);
  buffer->add_copy(2, kHalf, kSize);
  buffer->note_use(kHostPlace, 0, kHalf + 100);
  buffer->note_use(2, kHalf, kSize);
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, kHalf);
  EXPECT_TRUE(buffer->valid_at(kHostPlace, 0, kHalf + 100));
  EXPECT_FALSE(buffer->valid_at(kHostPlace, kHalf + 100, kSize));  // it only came by
  EXPECT_TRUE(buffer->valid_at(2, kHalf, kSize));
  // It has not been used there since.
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, kHalf);
  EXPECT_TRUE(buffer->valid_at(kHostPlace, 0, kHalf));
  EXPECT_FALSE(buffer->valid_at(kHostPlace, kHalf, kHalf + 1));
}

TEST_F(EngineScatter, WhereTheHostsDeviceComputesIsKnown) {
  balancer.name = "static";  // a package for each
  start({kSharesHost, kOwnMemory}, SplitMode::kAuto);
  const auto stream = engine->create_stream({});
  auto in = buffer(1), out = buffer(0);
  ASSERT_TRUE(enqueue(*stream, known_kernel(KernelForm::kMap, in, out, 1, [](const FakeItem& item) {
    run_item(KernelForm::kMap, item);
  })));
  ASSERT_TRUE(engine->finish(*stream));
  // What the one device read is used in the host's copy, the rest in the other's memory only.
  uint64_t host = 0, device = 0;
  for (const auto& segment : in->used_segments(0, kBytes)) {
    EXPECT_EQ(std::popcount(segment.places), 1);
    (segment.places == place_bit(kHostPlace) ? host : device) += segment.end - segment.begin;
  }
  EXPECT_GT(host, 0u);
  EXPECT_GT(device, 0u);
  EXPECT_EQ(host, kBytes - fakes[1]->bytes_in);
}

TEST_F(EngineScatter, OneOwnerIsWrittenDirectly) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto buffer = large();
  buffer->set_exclusive(kHostPlace, 0, kSize);
  buffer->add_copy(2, 0, kSize);
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(fakes[1]->bytes_in, kSize);
  EXPECT_TRUE(buffer->valid_at(2, 0, kSize));
  EXPECT_FALSE(buffer->valid_at(kHostPlace, 0, 1));
}

TEST_F(EngineScatter, BetweenDevicesInBlocks) {
  // By way of staging memory; where others may want it, of the host's copy, if there is one.
  constexpr uint64_t kLarge = (uint64_t{40} << 20) + 5;
  std::vector<std::byte> all(kLarge);
  std::byte* const bytes = all.data();
  for (size_t i = 0; i < kLarge; ++i) bytes[i] = std::byte(i * 7 + i / 251);
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kPins, kPins},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory},
                                                         {kPins, kPins, kPins}}) {
    for (const uint64_t size : {uint64_t{5000}, kLarge}) {
      SCOPED_TRACE(to_string(devices) + " " + std::to_string(size));
      start(devices, SplitMode::kAuto);
      LogicalBuffer::Options options;
      options.size = size;
      auto buffer = *engine->create_buffer(options, all.data());
      ASSERT_TRUE(buffer->make_valid(1, 0, size));
      buffer->set_exclusive(1, 0, size);
      const bool host_copy = devices[0] == kOwnMemory || size < 10000;
      if (host_copy) std::memset(*buffer->host_memory(), 0, size);
      const uint64_t out = fakes[0]->bytes_out, in = fakes[1]->bytes_in;
      uint64_t moved = 0;
      ASSERT_TRUE(buffer->make_valid(2, 3, size, &moved));
      EXPECT_EQ(moved, 2 * (size - 3));
      EXPECT_EQ(fakes[0]->bytes_out - out, size - 3);
      EXPECT_EQ(fakes[1]->bytes_in - in, size - 3);
      EXPECT_TRUE(buffer->valid_at(2, 3, size));
      EXPECT_EQ(buffer->valid_at(kHostPlace, 3, size), devices.size() == 3 && host_copy);
      EXPECT_FALSE(buffer->valid_at(kHostPlace, 0, 3));
      // Two blocks, which serve again.
      EXPECT_EQ(fakes[0]->pins + fakes[1]->pins, host_copy ? 0 : 2);
      buffer->set_exclusive(2, 3, size);
      std::vector<std::byte> found(size);
      auto stream = engine->create_stream({});
      ASSERT_TRUE(enqueue(*stream, ReadWork{{buffer, 0, size}, 0, size, found.data()}, {}, true));
      EXPECT_EQ(std::memcmp(found.data(), all.data(), size), 0);
      buffer = {};
      stream = {};
      engine.reset();
    }
  }
}

TEST_F(EngineScatter, NewOrSmallContentWaitsInTheHostsCopy) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto buffer = large();
  write_and_check(buffer, 0, kSize);
  EXPECT_EQ(sent_, 0u);
  EXPECT_TRUE(buffer->valid_at(kHostPlace, 0, kSize));
  buffer->set_exclusive(1, 0, kHalf);
  buffer->set_exclusive(2, kHalf, kSize);
  write_and_check(buffer, kHalf - 100, kHalf + 100);
  EXPECT_EQ(sent_, 0u);
}

}  // namespace
}  // namespace tutti::testing
