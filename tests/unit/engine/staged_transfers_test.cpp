// SPDX-License-Identifier: Apache-2.0
// Large transfers of pageable memory, straight and through pinned blocks, on fakes that pin memory.
#include "scheduler/devices/staged_transfers.h"

#include <chrono>
#include <mutex>
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

constexpr uint64_t kMiB = 1 << 20;
constexpr int kAllTrials = 4;  // transfers, after which one way is chosen

/// Bytes that no other seed has, and nowhere else.
std::vector<std::byte> noise(uint64_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  uint64_t word = seed;
  for (uint64_t at = 0; at + sizeof word <= size; at += sizeof word) {
    word = word * 6364136223846793005 + 1442695040888963407;
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  return bytes;
}

class Staged : public EngineTest {
 protected:
  void begin(FakeKind kind = kPins, uint32_t threads = 4) {
    transfers.reset();
    memory.reset();
    start({kind}, SplitMode::kNever);
    queue = *set->transfer_queue(0);
    memory = *set->at(0).allocate(kSize, nullptr);
    transfers = std::make_unique<StagedTransfers>(*set, threads);
    if (deadline_ns == 0) {
      fakes[0]->transferring = [this](const void* host, uint64_t bytes) {
        const std::lock_guard lock(mutex);
        ++calls;
        const bool pinned = set->pinned().holds(host, bytes);
        (pinned ? through_pinned : through_pageable) += bytes;
        if (during) during(pinned);
      };
    }
  }
  void TearDown() override {
    transfers.reset();
    memory.reset();
    EngineTest::TearDown();
  }
  Status write(uint64_t offset, const std::byte* from, uint64_t size) {
    return transfers->write_rows(0, *queue, *memory, {.offset = offset, .length = size}, from);
  }
  Status read(uint64_t offset, std::byte* to, uint64_t size) {
    return transfers->read_rows(0, *queue, *memory, {.offset = offset, .length = size}, to);
  }
  /// Writes all trials of this size; then what was counted is forgotten.
  void decide(uint64_t size) {
    const auto bytes = noise(size, 1);
    for (int i = 0; i < kAllTrials; ++i) ASSERT_TRUE(write(0, bytes.data(), size));
    forget();
  }
  void forget() {
    const std::lock_guard lock(mutex);
    calls = through_pinned = through_pageable = 0;
  }
  std::vector<std::byte> content(uint64_t offset, uint64_t size) {
    std::vector<std::byte> bytes(size);
    EXPECT_TRUE(queue->read_blocking(*memory, offset, size, bytes.data()));
    return bytes;
  }

  static constexpr uint64_t kSize = 24 * kMiB;
  backends::Queue* queue = nullptr;
  std::unique_ptr<backends::Memory> memory;
  std::unique_ptr<StagedTransfers> transfers;
  std::mutex mutex;
  std::function<void(bool pinned)> during;  // in the device's thread
  uint64_t calls = 0, through_pinned = 0, through_pageable = 0;
};

TEST_F(Staged, ContentIsRightWhateverTheSizeAndWhereItLies) {
  begin();
  const uint64_t sizes[] = {4 * kMiB, 4 * kMiB + 1, 5 * kMiB - 3, 9 * kMiB + 17, 21 * kMiB + 5};
  uint32_t seed = 0;
  for (int round = 0; round < kAllTrials; ++round) {
    for (const uint64_t size : sizes) {
      const uint64_t offset = 4097 * ++seed, at = 3 + seed;
      const std::vector<std::byte> before(kSize, std::byte(static_cast<uint8_t>(++seed)));
      ASSERT_TRUE(queue->write_blocking(*memory, 0, kSize, before.data()));
      const auto sent = noise(size + at, ++seed);
      ASSERT_TRUE(write(offset, sent.data() + at, size));
      auto wanted = before;
      std::copy(sent.begin() + static_cast<ptrdiff_t>(at), sent.end(),
                wanted.begin() + static_cast<ptrdiff_t>(offset));
      ASSERT_EQ(content(0, kSize), wanted);
      std::vector<std::byte> got(size + at + 5, std::byte{0x5A});
      ASSERT_TRUE(read(offset, got.data() + at, size));
      ASSERT_TRUE(std::equal(got.begin() + static_cast<ptrdiff_t>(at), got.end() - 5,
                             sent.begin() + static_cast<ptrdiff_t>(at)));
      for (uint64_t i = 0; i < at; ++i) ASSERT_EQ(got[i], std::byte{0x5A});  // as they were
      for (uint64_t i = got.size() - 5; i < got.size(); ++i) ASSERT_EQ(got[i], std::byte{0x5A});
    }
  }
  EXPECT_GT(transfers->staged(0).to_device, 0u);
  EXPECT_GT(transfers->staged(0).to_host, 0u);
  EXPECT_GT(through_pinned, 0u);
}

TEST_F(Staged, TheFasterWayIsTaken) {
  for (const bool slow : {false, true}) {  // where pinned memory is
    begin();
    during = [slow](bool pinned) {
      if (pinned == slow) std::this_thread::sleep_for(std::chrono::milliseconds(pinned ? 20 : 100));
    };
    decide(8 * kMiB);
    const auto bytes = noise(8 * kMiB, 7);
    ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
    EXPECT_EQ(content(0, bytes.size()), bytes);
    EXPECT_EQ(through_pinned, slow ? 0 : bytes.size());
    // The other direction and other sizes are chosen for themselves: both ways are tried.
    forget();
    auto got = bytes;
    for (int i = 0; i < kAllTrials; ++i) ASSERT_TRUE(read(0, got.data(), got.size()));
    EXPECT_GT(through_pinned, got.size());
    EXPECT_GT(through_pageable, got.size());
    during = nullptr;
    transfers.reset();
    memory.reset();
  }
}

TEST_F(Staged, WhatIsPinnedOrSmallAndRowsGoStraight) {
  begin();
  DeviceMemory& counted = set->memory(0);
  auto block = set->pinned().take(set->at(0), counted, 8 * kMiB);
  ASSERT_TRUE(block);
  EXPECT_TRUE(set->pinned().holds(block.memory->data() + 5, 8 * kMiB - 5));
  EXPECT_FALSE(set->pinned().holds(block.memory->data() + 5, 8 * kMiB));
  EXPECT_FALSE(set->pinned().holds(block.memory->data() - 1, 2));
  std::memset(block.memory->data(), 3, 8 * kMiB);
  const auto bytes = noise(8 * kMiB, 1);
  for (int i = 0; i < kAllTrials; ++i) {
    ASSERT_TRUE(write(0, block.memory->data(), 8 * kMiB));
    ASSERT_TRUE(write(0, bytes.data(), 2 * kMiB));
    ASSERT_TRUE(
        transfers->write_rows(0, *queue, *memory, {0, 3 * kMiB, 4 * kMiB, 2}, bytes.data()));
  }
  EXPECT_EQ(calls, 4u * kAllTrials);
  EXPECT_EQ(transfers->staged(0).to_device, 0u);
  set->pinned().give_back(std::move(block));
}

TEST_F(Staged, ADeviceThatPinsNothingIsSparedAll) {
  begin(kOwnMemory);
  const auto bytes = noise(8 * kMiB, 1);
  for (int i = 0; i < kAllTrials; ++i) ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
  EXPECT_EQ(calls, uint64_t{kAllTrials});
  EXPECT_EQ(fakes[0]->pins, 0u);
}

TEST_F(Staged, WhatIsPackedPassesThroughBlocks) {
  for (const FakeKind kind : {kPins, kOwnMemory}) {
    begin(kind);
    for (const uint64_t size : {uint64_t{1}, 5 * kMiB + 7, 16 * kMiB}) {
      const auto bytes = noise(size, static_cast<uint32_t>(size));
      const auto pack = [&](uint64_t from, uint64_t to, std::byte* block) {
        for (uint64_t at = from; at < to; ++at) block[at - from] = ~bytes[size - 1 - at];
      };
      forget();
      ASSERT_TRUE(transfers->write_packed(0, *queue, *memory, 3, size, pack));
      const auto got = content(3, size);
      for (uint64_t at = 0; at < size; ++at) ASSERT_EQ(got[at], ~bytes[size - 1 - at]) << at;
      // A rest may have a stage to itself, which is too small to be pinned.
      EXPECT_GE(through_pinned, kind == kPins ? size / kMiB * kMiB : 0);
      EXPECT_LE(through_pinned, kind == kPins ? size : 0);
    }
  }
}

TEST_F(Staged, WhatIsPackedIsRightOrAnError) {
  begin();
  const auto bytes = noise(8 * kMiB, 1);
  const auto pack = [&](uint64_t from, uint64_t to, std::byte* block) {
    std::memcpy(block, bytes.data() + from, to - from);
  };
  std::atomic<int> writes{0};
  fakes[0]->fate = [&](FakeCall call) -> FakeFate {
    if (call != FakeCall::kWrite || ++writes != 3) return {};
    return {.result = CL_OUT_OF_RESOURCES, .done = 0.5};
  };
  EXPECT_FALSE(transfers->write_packed(0, *queue, *memory, 0, bytes.size(), pack));
  EXPECT_TRUE(transfers->write_packed(0, *queue, *memory, 0, bytes.size(), pack));
  EXPECT_EQ(content(0, bytes.size()), bytes);
}

TEST_F(Staged, TheBlocksAreKept) {
  begin();
  during = [](bool pinned) {
    if (!pinned) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  decide(16 * kMiB);
  const uint64_t pins = fakes[0]->pins;
  EXPECT_GT(pins, 0u);
  EXPECT_LE(pins, 8u);  // two for each thread
  const auto bytes = noise(16 * kMiB, 1);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
  EXPECT_LE(fakes[0]->pins, 8u);
  EXPECT_EQ(fakes[0]->unpins, 0u);
}

TEST_F(Staged, WithoutPinnedMemoryAllGoesStraight) {
  begin();
  fakes[0]->memory_left = 100;
  const auto bytes = noise(8 * kMiB, 1);
  for (int i = 0; i < 2 * kAllTrials; ++i) {
    std::vector<std::byte> got(bytes.size());
    ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
    ASSERT_TRUE(read(0, got.data(), got.size()));
    ASSERT_EQ(got, bytes);
  }
  EXPECT_EQ(through_pinned, 0u);
  // Helpers find none: the thread that waits does it alone.
  fakes[0]->memory_left = static_cast<int64_t>(9 * kMiB);
  fakes[0]->pins = 0;
  transfers = std::make_unique<StagedTransfers>(*set, 4);
  decide(8 * kMiB);
  EXPECT_EQ(fakes[0]->pins, 2u);
  EXPECT_GT(transfers->staged(0).to_device, 0u);
}

// Of each direction the second transfer is the first that is staged.
TEST_F(Staged, ABlockThatFailsIsSentStraight) {
  for (const bool refused : {true, false}) {
    for (const FakeCall call : {FakeCall::kWrite, FakeCall::kRead, FakeCall::kFlush}) {
      if (call == FakeCall::kFlush && !refused) continue;
      begin();
      std::atomic<int> left{-1};
      fakes[0]->fate = [&](FakeCall what) {
        FakeFate fate;
        if (what != call || left < 0 || left-- != 0) return fate;
        (refused ? fate.refused : fate.result) = CL_OUT_OF_RESOURCES;
        fate.done = 0.5;
        return fate;
      };
      const auto bytes = noise(16 * kMiB, 1), others = noise(16 * kMiB, 2);
      std::vector<std::byte> got(bytes.size());
      ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
      ASSERT_TRUE(read(0, got.data(), got.size()));
      EXPECT_EQ(got, bytes);
      left = 2;  // the first call is of bytes that go straight in any case
      ASSERT_TRUE(write(0, others.data(), others.size()));
      ASSERT_TRUE(read(0, got.data(), got.size()));
      EXPECT_EQ(left, -1);
      EXPECT_EQ(got, others);
      const bool reads = call == FakeCall::kRead;
      const backends::Traffic staged = transfers->staged(0);
      EXPECT_EQ(reads ? staged.to_host : staged.to_device, 0u);
      EXPECT_GT(reads ? staged.to_device : staged.to_host, 0u);
      transfers.reset();
      memory.reset();
    }
  }
}

TEST_F(Staged, ALostDeviceIsAnErrorAndHangsNothing) {
  begin();
  std::atomic<int> left{-1};
  during = [&](bool) {
    if (left >= 0 && left-- == 0) fakes[0]->lost = true;
  };
  const auto bytes = noise(16 * kMiB, 1);
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
  ASSERT_TRUE(read(0, got.data(), got.size()));
  left = 2;
  EXPECT_EQ(code_of(write(0, bytes.data(), bytes.size())), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_GT(through_pinned, 0u);
  fakes[0]->lost = false;
  left = 2;
  EXPECT_EQ(code_of(read(0, got.data(), got.size())), CL_DEVICE_NOT_AVAILABLE);
  fakes[0]->lost = false;
  ASSERT_TRUE(write(0, bytes.data(), bytes.size()));
  EXPECT_EQ(content(0, bytes.size()), bytes);
}

TEST_F(Staged, WhatAHangingDeviceMayStillUseIsNotUsedAgain) {
  deadline_ns = 300'000'000;
  begin();
  struct Seen {  // what the device's thread may look at for longer than this test takes
    std::mutex mutex;
    std::vector<const void*> used;
    std::atomic<bool> hangs{false}, awake{false};
  };
  const auto seen = std::make_shared<Seen>();
  fakes[0]->transferring = [this, seen](const void* host, uint64_t bytes) {
    const std::lock_guard lock(seen->mutex);
    if (seen->awake || !set->pinned().holds(host, bytes)) return;
    seen->used.push_back(host);
    if (seen->hangs) seen->awake.wait(false);
  };
  std::vector<std::byte> got(8 * kMiB);
  // The second one is staged.
  ASSERT_TRUE(read(0, got.data(), got.size()));
  seen->hangs = true;
  EXPECT_EQ(code_of(read(0, got.data(), got.size())), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_TRUE(set->at(0).hangs());
  std::vector<PinnedPool::Block> blocks;
  for (int i = 0; i < 10; ++i) {
    auto block = set->pinned().take_stage(*fakes[0], 4 * kMiB);
    ASSERT_TRUE(block);
    blocks.push_back(std::move(block));
  }
  seen->awake = true;
  seen->awake.notify_all();
  const std::lock_guard lock(seen->mutex);
  ASSERT_FALSE(seen->used.empty());
  for (const auto& block : blocks) {
    EXPECT_EQ(std::count(seen->used.begin(), seen->used.end(), block.memory->data()), 0);
  }
}

TEST_F(Staged, SeveralThreadsAtOnce) {
  begin();
  during = [](bool pinned) {
    if (!pinned) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  decide(5 * kMiB);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const uint64_t offset = i * (kSize / 4), size = 5 * kMiB + i;
      for (uint32_t round = 0; round < 6; ++round) {
        const auto bytes = noise(size, 10 * i + round);
        std::vector<std::byte> got(size);
        ASSERT_TRUE(write(offset, bytes.data(), size));
        ASSERT_TRUE(read(offset, got.data(), size));
        ASSERT_EQ(got, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Staged, ThereAreBlocksWhereBuffersHaveAllTheMemory) {
  begin();
  PinnedPool pool(8 * kMiB);
  DeviceMemory full;
  full.set_capacity(kSize);
  ASSERT_TRUE(full.hold(kSize));
  EXPECT_FALSE(pool.take(*fakes[0], full, kMiB));
  auto block = pool.take_stage(*fakes[0], kMiB);
  ASSERT_TRUE(block);
  EXPECT_TRUE(full.has_room(0));
  // They are used again, but not for buffers, and there are not many.
  std::byte* const data = block.memory->data();
  pool.give_back(std::move(block));
  full.let_go(kSize);
  auto of_buffer = pool.take(*fakes[0], full, kMiB);
  ASSERT_TRUE(of_buffer);
  EXPECT_NE(of_buffer.memory->data(), data);
  block = pool.take_stage(*fakes[0], kMiB);
  ASSERT_TRUE(block);
  EXPECT_EQ(block.memory->data(), data);
  EXPECT_TRUE(pool.take_stage(*fakes[0], PinnedPool::kMostStages - kMiB));
  EXPECT_FALSE(pool.take_stage(*fakes[0], kMiB));
}

TEST_F(Staged, BuffersAndTheApplicationsTransfersUseIt) {
  begin();
  constexpr uint64_t kLarge = 8 * kMiB;
  std::vector<std::byte> user = noise(kLarge, 5);
  LogicalBuffer::Options options;
  options.size = kLarge;
  options.user_memory = user.data();
  const auto of_user = *LogicalBuffer::create(*set, options);
  const Place place = of_user->place_on(0);
  for (int i = 0; i < kAllTrials; ++i) {
    of_user->set_exclusive(kHostPlace, 0, kLarge);
    ASSERT_TRUE(of_user->make_valid(place, 0, kLarge));
    of_user->set_exclusive(place, 0, kLarge);
    ASSERT_TRUE(of_user->make_valid(kHostPlace, 0, kLarge));
  }
  EXPECT_EQ(user, noise(kLarge, 5));
  const backends::Traffic moved = set->transfers().staged(0);
  EXPECT_GT(moved.to_device, kLarge);
  EXPECT_GT(moved.to_host, kLarge);
  options.user_memory = nullptr;
  const auto content = noise(64 * kMiB, 6);
  options.size = content.size();
  auto made = *engine->create_buffer(options, content.data());
  auto stream = engine->create_stream({});
  std::vector<std::byte> got(content.size());
  for (int i = 0; i < kAllTrials; ++i) {
    ASSERT_TRUE(
        enqueue(*stream, WriteWork{whole(made), 0, content.size(), content.data()}, {}, true));
    std::fill(got.begin(), got.end(), std::byte{0});
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(made), 0, got.size(), got.data()}, {}, true));
    ASSERT_EQ(got, content);
  }
  EXPECT_GT(set->transfers().staged(0).to_device, moved.to_device + content.size());
  EXPECT_GT(set->transfers().staged(0).to_host, moved.to_host + content.size());
}

}  // namespace
}  // namespace tutti::testing
