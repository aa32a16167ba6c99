// SPDX-License-Identifier: Apache-2.0
// Which bytes commands use: without an engine, and without anything that runs.
#include "scheduler/order/buffer_uses.h"

#include "fake_kernels.h"
#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class BufferUsesTest : public LogTest {
 protected:
  BufferView view(uint64_t origin) { return {used, origin, kBytes - origin}; }
  void expect_use(const BufferUse& found, uint64_t begin, uint64_t end, bool writes) {
    EXPECT_EQ(found.buffer, used.get());
    EXPECT_EQ(found.begin, begin);
    EXPECT_EQ(found.end, end);
    EXPECT_EQ(found.writes, writes);
    EXPECT_EQ(found.changes, writes);
  }

  FakeBackend& gpu = add_device(kOwnMemory);
  FakeBackend& cpu = add_device(kSharesHost);
  Ref<LogicalBuffer> used = buffer();
  std::byte memory[kBytes] = {};
};

TEST_F(BufferUsesTest, OffsetsCountFromTheBegunView) {
  const auto reads = uses_of(ReadWork{view(100), 20, 8, memory}, nullptr);
  ASSERT_EQ(reads.size(), 1u);
  expect_use(reads[0], 120, 128, false);
  const auto writes = uses_of(WriteWork{view(100), 20, 8, memory}, nullptr);
  ASSERT_EQ(writes.size(), 1u);
  expect_use(writes[0], 120, 128, true);
}

TEST_F(BufferUsesTest, ACopyReadsOneRangeAndWritesTheOther) {
  const auto uses = uses_of(CopyWork{view(0), view(1000), 10, 20, 30}, nullptr);
  ASSERT_EQ(uses.size(), 2u);
  expect_use(uses[0], 10, 40, false);
  expect_use(uses[1], 1020, 1050, true);
}

TEST_F(BufferUsesTest, ARectangleSpansFromItsFirstByteToItsLast) {
  RectWork rect;
  rect.view = view(0);
  rect.buffer_rect.origin = {4, 2, 1};
  rect.buffer_rect.row_pitch = 16;
  rect.buffer_rect.slice_pitch = 256;
  rect.region = {8, 3, 2};
  const auto uses = uses_of(rect, nullptr);
  ASSERT_EQ(uses.size(), 1u);
  expect_use(uses[0], 4 + 2 * 16 + 256, 4 + 4 * 16 + 2 * 256 + 8, false);
}

TEST_F(BufferUsesTest, MapsReadUnlessTheyDiscardAndUnmapsWriteWhatWasWritten) {
  const auto map = uses_of(MapWork{view(0), 0, 64, false}, nullptr);
  ASSERT_EQ(map.size(), 1u);
  expect_use(map[0], 0, 64, false);
  expect_use(uses_of(MapWork{view(0), 0, 64, true}, nullptr).at(0), 0, 64, true);
  EXPECT_TRUE(uses_of(UnmapWork{view(0), 0, 64, false}, nullptr).empty());
  expect_use(uses_of(UnmapWork{view(0), 0, 64, true}, nullptr).at(0), 0, 64, true);
  EXPECT_TRUE(uses_of(MarkerWork{}, nullptr).empty());
}

TEST_F(BufferUsesTest, AKernelUsesAllThatItsArgumentsShow) {
  auto arguments = std::make_shared<ArgumentSet>(4);
  (*arguments)[0].kind = (*arguments)[1].kind = ArgumentSlot::Kind::kBuffer;
  (*arguments)[0].view = view(0);
  (*arguments)[1].view = view(2048);
  KernelWork work;
  work.kernel = fake_kernel(KernelForm::kMap, 2);
  work.arguments = arguments;
  const auto uses = uses_of(work, nullptr);
  ASSERT_EQ(uses.size(), 2u);
  expect_use(uses[0], 0, kBytes, false);
  expect_use(uses[1], 2048, kBytes, true);
  EXPECT_EQ(uses[1].argument, 1u);
}

TEST_F(BufferUsesTest, MemoryIsLackingOnlyWhereADeviceHasItsOwn) {
  const BufferUse one = use(used, false);
  const uint32_t on_gpu = 0, on_cpu = 1;
  EXPECT_TRUE(allocated({&one, 1}, {&on_cpu, 1}));
  EXPECT_FALSE(allocated({&one, 1}, {&on_gpu, 1}));
  ASSERT_TRUE(used->device_memory(on_gpu));
  EXPECT_TRUE(allocated({&one, 1}, {&on_gpu, 1}));
}

TEST_F(BufferUsesTest, WhatALaunchHasChangedIsNewThereAlone) {
  used->set_exclusive(kHostPlace, 0, kBytes);
  const BufferUse reads{used.get(), 0, 100, true, false}, writes{used.get(), 0, 50, true, true};
  note_changes({&reads, 1}, 0);
  EXPECT_TRUE(used->valid_at(kHostPlace, 0, kBytes));
  note_changes({&writes, 1}, 0);
  EXPECT_EQ(used->valid_places(0, 50), place_bit(used->place_on(0)));
  EXPECT_TRUE(used->valid_at(kHostPlace, 50, kBytes));
}

TEST_F(BufferUsesTest, TheApplicationsMemoryIsReadByWritesAndWrittenByReads) {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const HostUse read = host_use_of(ReadWork{view(0), 20, 8, memory});
  EXPECT_EQ(read.begin, begin);
  EXPECT_EQ(read.end, begin + 8);
  EXPECT_TRUE(read.writes);
  EXPECT_FALSE(host_use_of(WriteWork{view(0), 20, 8, memory}).writes);
  const HostUse fill = host_use_of(FillWork{view(0), 0, 8});
  EXPECT_EQ(fill.begin, fill.end);
  // Nobody knows what the application does with a mapped pointer.
  EXPECT_EQ(host_use_of(MapWork{view(0), 0, 8, false}).end, UINTPTR_MAX);
}

}  // namespace
}  // namespace tutti::testing
