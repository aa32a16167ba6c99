// SPDX-License-Identifier: Apache-2.0
// Who gets room in a device's memory, and what goes for that, without an engine.
#include "scheduler/order/memory_room.h"

#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class MemoryRoomTest : public LogTest, public MemoryRoom::Others {
 protected:
  MemoryRoomTest() : device(add_device(kOwnMemory)) {}

  void end_idle() override { ++idle_ended; }
  std::vector<Ref<Node>> with_own_memory() override { return std::exchange(with_memory, {}); }
  /// Whom somebody waits for ends.
  void wait_for_data(const Ref<Node>& user) override {
    waited_for.push_back(user);
    if (meanwhile) meanwhile();
    log.finish(user, CL_COMPLETE);
  }
  /// Room for `count` buffers of kBytes.
  MemoryRoom& room_for(uint64_t count) {
    room.emplace(set(count * kBytes), log, owner, *this);
    return *room;
  }
  /// With memory on the device, used after all before it.
  Ref<LogicalBuffer> used_buffer() {
    auto made = buffer();
    EXPECT_TRUE(made->device_memory(0));
    log.finish(user_of(made), CL_COMPLETE);
    return made;
  }
  /// A started command that uses the buffer.
  Ref<Node> user_of(const Ref<LogicalBuffer>& used) {
    auto started = command();
    const BufferUse all = use(used, true);
    MutexLock lock(log.mutex());
    started->state = Node::State::kRunning;
    log.hold(*started, {&all, 1});
    return started;
  }
  MemoryHistory::Sums sums() { return set().memory(0).history().sums(); }
  Status allocate(const Ref<LogicalBuffer>& wanted) {
    const auto asking = user_of(wanted);
    asking->allocating = true;
    const BufferUse all = use(wanted, true);
    const uint32_t first = 0;
    const Status allocated = room->allocate(*asking, {&all, 1}, {&first, 1});
    EXPECT_FALSE(asking->allocating);
    log.finish(asking, CL_COMPLETE);
    return allocated;
  }

  FakeBackend& device;
  std::optional<MemoryRoom> room;
  std::function<void()> meanwhile;  // what another thread does
  int idle_ended = 0;
  std::vector<Ref<Node>> waited_for, with_memory;
};

TEST_F(MemoryRoomTest, WhatFitsIsAllocatedAndTheRestIsNoError) {
  MemoryRoom& two = room_for(2);
  const auto first = buffer(), second = buffer(), third = buffer();
  const std::vector<BufferUse> all{use(first, true), use(second, false), use(third, false)};
  two.allocate_what_fits(all, 0);
  EXPECT_TRUE(first->has_memory(0));
  EXPECT_TRUE(second->has_memory(0));
  EXPECT_FALSE(third->has_memory(0));
}

TEST_F(MemoryRoomTest, WhatWasUsedLongestAgoGoes) {
  room_for(2);
  const auto oldest = used_buffer(), newer = used_buffer(), wanted = buffer();
  EXPECT_TRUE(allocate(wanted));
  EXPECT_FALSE(oldest->has_memory(0));
  EXPECT_TRUE(newer->has_memory(0));
  EXPECT_TRUE(wanted->has_memory(0));
  EXPECT_TRUE(waited_for.empty());
  EXPECT_EQ(sums().evicted.count, 1u);
  EXPECT_EQ(sums().evicted.bytes, kBytes);
  EXPECT_EQ(sums().reshaped.count, 0u);
}

TEST_F(MemoryRoomTest, WhatNobodyUsesGoesBeforeWhatIsInUse) {
  room_for(2);
  const auto older = used_buffer(), newer = used_buffer(), wanted = buffer();
  const auto user = user_of(older);
  EXPECT_TRUE(allocate(wanted));
  EXPECT_TRUE(older->has_memory(0));
  EXPECT_FALSE(newer->has_memory(0));
  EXPECT_TRUE(waited_for.empty());
  log.finish(user, CL_COMPLETE);
}

TEST_F(MemoryRoomTest, WhereAllIsInUseACommandIsWaitedFor) {
  room_for(1);
  const auto only = used_buffer(), wanted = buffer();
  const auto user = user_of(only);
  EXPECT_TRUE(allocate(wanted));
  EXPECT_EQ(waited_for, std::vector<Ref<Node>>{user});
  EXPECT_FALSE(only->has_memory(0));
}

TEST_F(MemoryRoomTest, WhatOthersHaveAllocatedMeanwhileIsThere) {
  room_for(4);
  const auto busy = used_buffer();
  const backends::ImageShape shape{
      .extent = {kBytes / 4, 1, 1}, .pixel_size = 4, .row_pitch = kBytes};
  const auto image = *LogicalBuffer::create(set(), {.size = kBytes, .image = shape});
  std::vector<Ref<LogicalBuffer>> others{buffer(), buffer(), buffer()};
  for (const auto& other : others) ASSERT_TRUE(other->device_memory(0));
  std::vector<Ref<Node>> users{user_of(busy)};
  for (const auto& other : others) users.push_back(user_of(other));
  backends::Memory* made = nullptr;
  meanwhile = [&] {
    if (made) return;
    for (size_t i = 1; i < users.size(); ++i) log.finish(users[i], CL_COMPLETE);
    users.resize(1);
    others.clear();  // the application has released them
    made = image->device_memory(0).value_or(nullptr);
  };
  EXPECT_TRUE(allocate(image));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(*image->device_memory(0), made);
  EXPECT_EQ(sums().reshaped.count, 0u);
}

TEST_F(MemoryRoomTest, WithNobodyElseTheErrorIsTheVendors) {
  room_for(2);
  device.memory_left = 0;
  const Status failed = allocate(buffer());
  ASSERT_FALSE(failed);
  EXPECT_EQ(set().memory(0).peak(), 0u) << "what was not to be had";
  EXPECT_EQ(failed.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(MemoryRoomTest, CommandsWithMemoryOfTheirOwnAreWaitedForLast) {
  room_for(1);
  with_memory.push_back(user_of(buffer()));
  const auto running = with_memory.front();
  device.memory_left = 0;
  EXPECT_FALSE(allocate(buffer()));
  EXPECT_EQ(waited_for, std::vector<Ref<Node>>{running});
}

TEST_F(MemoryRoomTest, APartGrowsOnceNobodyUsesIt) {
  room_for(2);
  const auto wanted = buffer();
  const auto allocate_part = [&](const ByteRange& range) {
    const auto asking = user_of(wanted);
    asking->allocating = true;
    const Status allocated = room->allocate(*asking, MemoryNeeds{{wanted.get(), 0, range, true}});
    log.finish(asking, CL_COMPLETE);
    return allocated;
  };
  ASSERT_TRUE(allocate_part({1024, 2048}));
  EXPECT_EQ(wanted->shard_range(0), (ByteRange{1024, 2048}));
  ASSERT_TRUE(allocate_part({1024, 1536}));  // which is there
  EXPECT_EQ(wanted->shard_range(0), (ByteRange{1024, 2048}));
  const auto user = user_of(wanted);
  ASSERT_TRUE(allocate_part({0, 512}));
  EXPECT_EQ(waited_for, std::vector<Ref<Node>>{user});
  EXPECT_EQ(wanted->shard_range(0), (ByteRange{0, 2048}));
  ASSERT_TRUE(allocate(wanted));
  EXPECT_EQ(wanted->shard_range(0), (ByteRange{0, kBytes}));
  EXPECT_EQ(sums().reshaped.count, 3u);
  EXPECT_EQ(sums().reshaped.bytes, 1024 + 2048 + kBytes);
  EXPECT_EQ(sums().evicted.count, 0u);
}

TEST_F(MemoryRoomTest, WhatACommandNeedsLessOfMakesRoomForTheRest) {
  room_for(1);
  const auto first = buffer(), second = buffer();
  ASSERT_TRUE(second->reshape(0, {0, 3072}));
  const auto asking = command();
  const std::vector<BufferUse> both{use(first, true), use(second, true)};
  {
    MutexLock lock(log.mutex());
    asking->state = Node::State::kRunning;
    log.hold(*asking, both);
    asking->allocating = true;
  }
  EXPECT_TRUE(room->allocate(*asking, MemoryNeeds{{first.get(), 0, {0, 2048}, true},
                                                  {second.get(), 0, {2048, 4096}, true}}));
  log.finish(asking, CL_COMPLETE);
  EXPECT_EQ(first->shard_range(0), (ByteRange{0, 2048}));
  EXPECT_EQ(second->shard_range(0), (ByteRange{2048, 4096}));
}

// Its part has moved to where there is less of the buffer, and its memory is larger than that.
TEST_F(MemoryRoomTest, MemoryThatAPartDoesNotFillMakesRoomForTheRest) {
  room_for(1);
  const auto first = buffer(), second = buffer();
  ASSERT_TRUE(first->reshape(0, {0, kBytes / 2 + 64}));
  ASSERT_TRUE(first->move_shard(0, {kBytes / 2, kBytes}));
  EXPECT_EQ(first->shard_memory(0), kBytes / 2 + 64);
  const auto asking = command();
  {
    const std::vector<BufferUse> uses{use(first, true), use(second, true)};
    MutexLock lock(log.mutex());
    asking->state = Node::State::kRunning;
    asking->allocating = true;
    log.hold(*asking, uses);
  }
  const ByteRange half{kBytes / 2, kBytes};
  EXPECT_TRUE(room->allocate(
      *asking, MemoryNeeds{{first.get(), 0, half, true}, {second.get(), 0, half, true}}));
  EXPECT_TRUE(second->has_memory(0));
  EXPECT_EQ(first->shard_memory(0), kBytes / 2);
  log.finish(asking, CL_COMPLETE);
}

TEST_F(MemoryRoomTest, WhoAsksForMemoryWithoutRoomIsRefused) {
  room_for(2);
  const auto first = used_buffer(), second = used_buffer();
  const uint32_t before = device.allocations;
  const auto refused = buffer()->device_memory(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(device.allocations, before);
  EXPECT_EQ(set().memory(0).peak(), 2 * kBytes);
}

TEST_F(MemoryRoomTest, AtOnceOnlyWhatNobodyUsesGoes) {
  MemoryRoom& two = room_for(2);
  const auto older = used_buffer(), newer = used_buffer(), wanted = buffer(), more = buffer();
  const auto user = user_of(older), asking = user_of(wanted);
  const std::vector<BufferUse> both{use(wanted, true), use(more, true)};
  two.allocate_at_once(both, 0);
  EXPECT_TRUE(older->has_memory(0));
  EXPECT_FALSE(newer->has_memory(0));
  EXPECT_TRUE(wanted->has_memory(0));
  EXPECT_FALSE(more->has_memory(0)) << "for which there is no room";
  EXPECT_TRUE(waited_for.empty());
  for (const auto& one : {user, asking}) log.finish(one, CL_COMPLETE);
}

TEST_F(MemoryRoomTest, WhatNobodyUsesGoesForSharedMemory) {
  MemoryRoom& two = room_for(2);
  const auto older = used_buffer(), newer = used_buffer();
  two.free_at_once(0, kBytes);
  EXPECT_FALSE(older->has_memory(0));
  EXPECT_TRUE(newer->has_memory(0));
  const auto user = user_of(newer);
  two.free_at_once(0, 2 * kBytes);
  EXPECT_TRUE(newer->has_memory(0));
  EXPECT_TRUE(waited_for.empty());
  log.finish(user, CL_COMPLETE);
}

TEST_F(MemoryRoomTest, WhoMustHaveMemoryAsksTheVendorAgain) {
  room_for(3);
  device.memory_left = kBytes;
  const auto first = buffer(), second = buffer();
  const std::vector<BufferUse> both{use(first, true), use(second, true)};
  const auto asks = [&] {
    const auto asking = command();
    {
      MutexLock lock(log.mutex());
      asking->state = Node::State::kRunning;
      log.hold(*asking, both);
      asking->allocating = true;
    }
    const uint32_t backend = 0;
    const Status allocated = room->allocate(*asking, both, {&backend, 1});
    log.finish(asking, CL_COMPLETE);
    return allocated;
  };
  EXPECT_FALSE(asks());
  EXPECT_FALSE(set().memory(0).has_room(kBytes));
  device.memory_left += kBytes;
  EXPECT_TRUE(asks());
  EXPECT_TRUE(first->has_memory(0));
  EXPECT_TRUE(second->has_memory(0));
}

TEST_F(MemoryRoomTest, IdleCommandsEndFirst) {
  room_for(1);
  const auto only = used_buffer();
  const auto idle = user_of(only);
  {
    MutexLock lock(log.mutex());
    log.make_idle(*idle);
  }
  EXPECT_TRUE(allocate(buffer()));
  EXPECT_GT(idle_ended, 0);
  for (const auto& taken : log.take_idle(nullptr)) log.finish(taken, CL_COMPLETE);
}

}  // namespace
}  // namespace tutti::testing
