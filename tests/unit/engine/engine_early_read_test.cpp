// SPDX-License-Identifier: Apache-2.0
// Results are fetched while other packages of their launch still compute.
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineEarlyRead : public EngineTest {
 protected:
  uint64_t launched() const {
    uint64_t sum = 0;
    for (const FakeBackend* fake : fakes) sum += fake->launches;
    return sum;
  }
  uint64_t fetched() const {
    uint64_t sum = 0;
    for (const FakeBackend* fake : fakes) sum += fake->bytes_out;
    return sum;
  }
  /// A launch of kMap, out of which `fetched_early` becomes true: once a package must have ended,
  /// the next ones wait until something of it was fetched.
  KernelWork waiting_kernel(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out,
                            std::atomic<bool>& fetched_early) {
    const auto function = [this, launched_before = launched(), fetched_before = fetched(),
                           &fetched_early](const FakeItem& item) {
      if (launched() > launched_before + 2 * fakes.size()) {
        while (fetched() == fetched_before) std::this_thread::yield();
        fetched_early = true;
      }
      run_item(KernelForm::kMap, item);
    };
    return known_kernel(KernelForm::kMap, in, out, 1, function);
  }
};

TEST_F(EngineEarlyRead, FetchesWhatHasEnded) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (const bool blocking : {true, false}) {
      SCOPED_TRACE(to_string(devices) + (blocking ? "" : ", not blocking"));
      start(devices, SplitMode::kForce);
      auto stream = engine->create_stream({});
      int early = 0;
      for (uint8_t round = 0; round < 20; ++round) {
        auto a = buffer(round), b = buffer(0);
        const uint64_t fetched_before = fetched();
        std::atomic<bool> fetched_early{false};
        ASSERT_TRUE(enqueue(*stream, waiting_kernel(a, b, fetched_early)));
        std::vector<std::byte> bytes(kBytes);
        ASSERT_TRUE(enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, blocking));
        ASSERT_TRUE(engine->finish(*stream));
        EXPECT_EQ(bytes, filled(static_cast<uint8_t>(round * 3 + 1)));
        EXPECT_LE(fetched() - fetched_before, kBytes);  // nothing twice
        early += fetched_early ? 1 : 0;
      }
      EXPECT_GT(early, 0);
      engine.reset();
    }
  }
}

TEST_F(EngineEarlyRead, APartOfTheBufferOnly) {
  start({kOwnMemory, kOwnMemory, kCostlyTimes}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto a = buffer(5), b = buffer(0);
  for (uint32_t begin = 0; begin < kBytes; begin += 311) {
    const uint32_t size = std::min(kBytes - begin, 1000u);
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, begin & 0xff)));
    std::vector<std::byte> bytes(kBytes);
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(b), begin, size, bytes.data()}, {}, true));
    std::vector<std::byte> expected(kBytes);
    std::fill_n(expected.begin(), size, static_cast<std::byte>(15 + (begin & 0xff)));
    EXPECT_EQ(bytes, expected) << begin;
  }
}

TEST_F(EngineEarlyRead, ImagesAndRectanglesBeginEarlyToo) {
  constexpr size_t kRow = 64;
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kOwnMemory, kSharesHost, kOwnMemory}}) {
    for (const bool is_image : {true, false}) {
      for (const bool blocking : {true, false}) {
        SCOPED_TRACE(to_string(devices) + (is_image ? ", image" : ", buffer") +
                     (blocking ? "" : ", not blocking"));
        start(devices, SplitMode::kForce);
        auto stream = engine->create_stream({});
        const bool shared = contains(devices, kSharesHost);
        int early = 0;
        for (uint8_t round = 0; round < 20; ++round) {
          auto a = buffer(round), b = is_image ? image({kRow / 4, kBytes / kRow, 1}) : buffer(0);
          const uint64_t fetched_before = fetched();
          std::atomic<bool> fetched_early{false};
          ASSERT_TRUE(
              enqueue(*stream, shared ? map_kernel(a, b, 1) : waiting_kernel(a, b, fetched_early)));
          // All but the first eight bytes of each row: something of every package.
          std::vector<std::byte> bytes(kBytes);
          RectWork read;
          read.view = whole(b);
          read.host = bytes.data();
          read.buffer_rect = {{8, 0, 0}, kRow, kBytes};
          read.host_rect = {{0, 0, 0}, kRow, kBytes};
          read.region = {kRow - 8, kBytes / kRow, 1};
          ASSERT_TRUE(enqueue(*stream, read, {}, blocking));
          ASSERT_TRUE(engine->finish(*stream));
          std::vector<std::byte> expected(kBytes);
          for (size_t y = 0; y < read.region[1]; ++y) {
            std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(y * kRow), read.region[0],
                        static_cast<std::byte>(round * 3 + 1));
          }
          EXPECT_EQ(bytes, expected);
          EXPECT_LE(fetched() - fetched_before, kBytes);  // nothing twice
          early += fetched_early ? 1 : 0;
        }
        EXPECT_TRUE(shared || early > 0);
        engine.reset();
      }
    }
  }
}

TEST_F(EngineEarlyRead, MapsBeginEarlyToo) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kOwnMemory, kSharesHost, kOwnMemory}}) {
    for (const bool blocking : {true, false}) {
      SCOPED_TRACE(to_string(devices) + (blocking ? "" : ", not blocking"));
      start(devices, SplitMode::kForce);
      auto stream = engine->create_stream({});
      int early = 0;
      for (uint8_t round = 0; round < 20; ++round) {
        auto a = buffer(round), b = buffer(0);
        const auto* host = *b->host_memory();
        const uint64_t fetched_before = fetched();
        std::atomic<bool> fetched_early{false};
        const bool shared = contains(devices, kSharesHost);
        ASSERT_TRUE(
            enqueue(*stream, shared ? map_kernel(a, b, 1) : waiting_kernel(a, b, fetched_early)));
        ASSERT_TRUE(enqueue(*stream, MapWork{whole(b), 0, kBytes, false}, {}, blocking));
        ASSERT_TRUE(engine->finish(*stream));
        EXPECT_EQ(std::vector<std::byte>(host, host + kBytes),
                  filled(static_cast<uint8_t>(round * 3 + 1)));
        EXPECT_LE(fetched() - fetched_before, kBytes);  // nothing twice
        early += fetched_early ? 1 : 0;
        // What the application then writes there is what counts.
        std::fill_n(*b->host_memory(), kBytes, std::byte{7});
        ASSERT_TRUE(enqueue(*stream, UnmapWork{whole(b), 0, kBytes, true}));
        ASSERT_TRUE(enqueue(*stream, map_kernel(b, a, 2)));
        EXPECT_EQ(read(*stream, a), filled(23));
      }
      EXPECT_TRUE(early > 0 || contains(devices, kSharesHost));
      engine.reset();
    }
  }
}

TEST_F(EngineEarlyRead, AMapAndALaunchBehindItReadTheSameResult) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kSerial, kSerial}, {kOwnMemory, kOwnMemory}, {kSerial, kSerial, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kForce);
    auto stream = engine->create_stream({});
    for (uint8_t round = 0; round < 60; ++round) {
      auto a = buffer(round), b = buffer(0), c = buffer(0);
      const std::byte* host = *b->host_memory();
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
      ASSERT_TRUE(enqueue(*stream, MapWork{whole(b), 0, kBytes, false}));
      ASSERT_TRUE(enqueue(*stream, map_kernel(b, c, 2)));
      const auto first = static_cast<uint8_t>(round * 3 + 1);
      EXPECT_EQ(read(*stream, c), filled(static_cast<uint8_t>(first * 3 + 2)));
      EXPECT_EQ(std::vector<std::byte>(host, host + kBytes), filled(first));
      ASSERT_TRUE(enqueue(*stream, UnmapWork{whole(b), 0, kBytes, false}));
    }
    engine.reset();
  }
}

TEST_F(EngineEarlyRead, WhatOthersHaveFetchedIsLeftAlone) {
  constexpr uint64_t kPart = kBytes / 4, kHalf = kBytes / 2;
  start({kOwnMemory, kSharesHost}, SplitMode::kForce);
  const Place device = set->place(0);
  backends::Queue& queue = **set->reading_queue(0);
  auto b = buffer(3);
  ASSERT_TRUE(b->make_valid(device, 0, kBytes));
  b->set_exclusive(device, 0, kBytes);
  std::byte* host = *b->host_memory();
  std::fill_n(host, kBytes, std::byte{0});
  const int launch = 0;
  const ByteStrips written{.range = {0, kBytes}};
  b->begin_write(&launch, device, written);
  const uint64_t before = fetched();
  ASSERT_TRUE(b->fetch_written(0, queue, {0, kHalf}));
  EXPECT_EQ(fetched() - before, kHalf);
  EXPECT_TRUE(std::equal(host, host + kHalf, filled(3).begin()));
  EXPECT_FALSE(b->valid_at(kHostPlace, 0, 1));  // as long as the launch has not shown it
  b->end_write(&launch, device, written);
  // The other device, which shares the host's memory, computes with a part of it from here on.
  ASSERT_TRUE(b->make_valid(kHostPlace, kPart, kHalf));
  std::fill(host + kPart, host + kHalf, std::byte{9});
  ASSERT_TRUE(b->fetch_written(0, queue, {0, kBytes}));
  EXPECT_EQ(fetched() - before, kBytes);  // nothing twice
  EXPECT_TRUE(b->valid_at(kHostPlace, 0, kBytes));
  std::vector<std::byte> expected = filled(3);
  std::fill(expected.begin() + kPart, expected.begin() + kHalf, std::byte{9});
  EXPECT_EQ(std::vector<std::byte>(host, host + kBytes), expected);
}

TEST_F(EngineEarlyRead, NothingOlderComesToWhatWasFetched) {
  constexpr uint64_t kHalf = kBytes / 2;
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  const Place writer = set->place(0), other = set->place(1);
  auto b = buffer(3);
  ASSERT_TRUE(b->make_valid(writer, 0, kBytes));  // as if the launch had written that
  std::byte* host = *b->host_memory();
  std::fill_n(host, kBytes, std::byte{5});
  b->set_exclusive(kHostPlace, 0, kBytes);
  ASSERT_TRUE(b->make_valid(other, 0, kBytes));
  b->set_exclusive(other, 0, kBytes);
  const int launch = 0;
  const ByteStrips written{.range = {0, kBytes}};
  b->begin_write(&launch, writer, written);
  const uint64_t before = fetched();
  ASSERT_TRUE(b->fetch_written(0, **set->reading_queue(0), {0, kHalf}));
  // A device that does one thing at a time gives out what others need before it computes.
  ASSERT_TRUE(b->make_valid(kHostPlace, 0, kBytes));
  EXPECT_EQ(fetched() - before, kBytes);
  EXPECT_TRUE(std::equal(host, host + kHalf, filled(3).begin()));
  b->end_writes(&launch);
  EXPECT_TRUE(b->valid_at(kHostPlace, 0, kHalf));
  EXPECT_FALSE(b->valid_at(kHostPlace, kHalf, kBytes));
  ASSERT_TRUE(b->make_valid(kHostPlace, 0, kBytes));
  EXPECT_EQ(std::vector<std::byte>(host, host + kBytes), filled(3));
  EXPECT_EQ(fetched() - before, kBytes + kHalf);
}

TEST_F(EngineEarlyRead, ShortReadsWait) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  auto a = buffer(1), b = buffer(0);
  const auto function = [&](const FakeItem& item) {
    EXPECT_EQ(fetched(), 0u);
    run_item(KernelForm::kMap, item);
  };
  ASSERT_TRUE(enqueue(*stream, known_kernel(KernelForm::kMap, a, b, 1, function)));
  EXPECT_EQ(read(*stream, b), filled(4));
}

TEST_F(EngineEarlyRead, AFailedLaunchLeavesTheReadToItsEnd) {
  for (int refused = 0; refused < 12; ++refused) {
    start({kOwnMemory, kCostlyTimes}, SplitMode::kForce);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(0);
    fakes[0]->refuse_launches = refused;
    fakes[1]->refuse_launches = refused % 3;
    const auto launch = enqueue(*stream, map_kernel(a, b, 1));
    std::vector<std::byte> bytes(kBytes);
    const auto got = enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, true);
    ASSERT_TRUE(launch);
    const bool well = (*launch)->status() == CL_COMPLETE;
    EXPECT_EQ(static_cast<bool>(got), well);
    if (well) {
      EXPECT_EQ(bytes, filled(4));
    }
    engine.reset();
  }
}

}  // namespace
}  // namespace tutti::testing
