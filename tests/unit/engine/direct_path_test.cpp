// SPDX-License-Identifier: Apache-2.0
// What may go straight to a vendor's queue, and what is noted of it, without an engine.
#include "scheduler/run/direct_path.h"

#include <array>

#include "fake_kernels.h"
#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class DirectPathTest : public LogTest {
 protected:
  enum : uint32_t { kGpu, kOtherGpu };
  BufferView view(const Ref<LogicalBuffer>& buffer) { return {buffer, 0, kBytes}; }
  KernelWork map_kernel() {
    auto arguments = std::make_shared<ArgumentSet>(4);
    const std::array<uint32_t, 2> numbers{kBytes, 5};
    for (size_t i = 0; i < 2; ++i) {
      (*arguments)[i].kind = ArgumentSlot::Kind::kBuffer;
      (*arguments)[i].view = view(i == 0 ? in : out);
      ArgumentSlot& number = (*arguments)[i + 2];
      number.kind = ArgumentSlot::Kind::kBytes;
      const auto* bytes = reinterpret_cast<const std::byte*>(&numbers[i]);
      number.bytes.assign(bytes, bytes + sizeof numbers[i]);
    }
    KernelWork work;
    work.kernel = fake_kernel(KernelForm::kMap, 2);
    work.arguments = arguments;
    work.shape.global[0] = kBytes;
    return work;
  }
  /// The buffer's content becomes this value, in the host's copy.
  void put(const Ref<LogicalBuffer>& buffer, uint8_t value) {
    std::fill_n(*buffer->host_memory(), kBytes, std::byte{value});
    buffer->set_exclusive(kHostPlace, 0, kBytes);
  }
  bool only_on(const Ref<LogicalBuffer>& buffer, uint32_t backend) {
    return buffer->valid_places(0, kBytes) == place_bit(buffer->place_on(backend));
  }

  FakeBackend& gpu = add_device(kOwnMemory);
  FakeBackend& other_gpu = add_device(kOwnMemory);
  DirectPath direct{set()};
  Ref<Stream> in_order = stream({});
  Ref<LogicalBuffer> in = buffer(), out = buffer();
  std::array<std::byte, kBytes> memory{};
};

TEST_F(DirectPathTest, AReadNeedsItsBytesOnTheDeviceAWriteDoesNot) {
  put(in, 1);
  const Work read = ReadWork{view(in), 0, 64, memory.data()};
  EXPECT_FALSE(direct.possible(read, kGpu));
  EXPECT_TRUE(direct.possible(WriteWork{view(in), 0, 64, memory.data()}, kGpu));
  in->set_exclusive(in->place_on(kGpu), 0, 64);
  EXPECT_TRUE(direct.possible(read, kGpu));
  EXPECT_FALSE(direct.possible(read, kOtherGpu));
  EXPECT_FALSE(direct.possible(HostWork{}, kGpu));
}

TEST_F(DirectPathTest, AKernelMayBringWhatTheHostHasButNotWhatAnotherDeviceHas) {
  put(in, 1);
  const BufferUse reads = use(in, false);
  EXPECT_TRUE(direct.possible({&reads, 1}, kGpu));
  EXPECT_TRUE(direct.sends({&reads, 1}, kGpu));
  in->set_exclusive(in->place_on(kGpu), 0, kBytes);
  EXPECT_FALSE(direct.sends({&reads, 1}, kGpu));
  EXPECT_FALSE(direct.possible({&reads, 1}, kOtherGpu));
}

TEST_F(DirectPathTest, MapsAreOnlyOrderWhereTheHostsCopyIsWhatTheyWant) {
  EXPECT_TRUE(direct.only_order(MarkerWork{}));
  put(in, 1);
  EXPECT_TRUE(direct.only_order(MapWork{view(in), 0, 64, false}));
  EXPECT_TRUE(direct.only_order(UnmapWork{view(in), 0, 64, true}));
  in->add_copy(in->place_on(kGpu), 0, kBytes);
  EXPECT_TRUE(direct.only_order(MapWork{view(in), 0, 64, false}));
  EXPECT_FALSE(direct.only_order(MapWork{view(in), 0, 64, true}));
  EXPECT_FALSE(direct.only_order(UnmapWork{view(in), 0, 64, true}));
  EXPECT_TRUE(direct.only_order(UnmapWork{view(in), 0, 64, false}));
  EXPECT_FALSE(direct.only_order(ReadWork{view(in), 0, 64, memory.data()}));
}

TEST_F(DirectPathTest, ALaunchBringsItsDataAndItsResultIsNewOnTheDevice) {
  put(in, 2);
  put(out, 0);
  const KernelWork work = map_kernel();
  const auto uses = uses_of(work, nullptr);
  const auto launched = direct.submit(work, *in_order, kGpu, {}, {.uses = uses});
  ASSERT_TRUE(launched);
  EXPECT_TRUE((*launched)->wait());
  EXPECT_TRUE(in->valid_at(kHostPlace, 0, kBytes));
  EXPECT_TRUE(in->valid_at(in->place_on(kGpu), 0, kBytes));
  EXPECT_TRUE(only_on(out, kGpu));
  const auto read =
      direct.submit(ReadWork{view(out), 0, kBytes, memory.data()}, *in_order, kGpu, {}, {});
  ASSERT_TRUE(read);
  EXPECT_TRUE((*read)->wait());
  EXPECT_EQ(memory[0], std::byte{2 * 3 + 5});
  EXPECT_EQ(memory[kBytes - 1], std::byte{2 * 3 + 5});
}

TEST_F(DirectPathTest, WhatIsWrittenIsNewOnTheDevice) {
  put(in, 1);
  ASSERT_TRUE(
      DirectPath::write_blocking(WriteWork{view(in), 0, kBytes, memory.data()}, *in_order, kGpu));
  EXPECT_TRUE(only_on(in, kGpu));
  const auto filled = direct.submit(FillWork{view(out), 0, kBytes}, *in_order, kOtherGpu, {}, {});
  ASSERT_TRUE(filled);
  EXPECT_TRUE((*filled)->wait());
  EXPECT_TRUE(only_on(out, kOtherGpu));
}

TEST_F(DirectPathTest, ARefusedLaunchChangesNothing) {
  put(in, 1);
  put(out, 0);
  gpu.refuse_launches = 1;
  const KernelWork work = map_kernel();
  EXPECT_FALSE(direct.submit(work, *in_order, kGpu, {}, {.uses = uses_of(work, nullptr)}));
  EXPECT_TRUE(out->valid_at(kHostPlace, 0, kBytes));
  in_order->queues.visit([](backends::Queue& queue) { EXPECT_TRUE(queue.finish()); });
}

}  // namespace
}  // namespace tutti::testing
