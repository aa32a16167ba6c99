// SPDX-License-Identifier: Apache-2.0
// The parts of backends/process by themselves: messages, shared memory, lanes.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "backends/process/lane.h"
#include "backends/process/protocol.h"
#include "backends/process/remote_completion.h"
#include "backends/process/shared_arena.h"
#include "base/clock.h"

namespace tutti::backends::process {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(ProcessMessages, HoldWhatWasPutIn) {
  Writer to;
  to.put<uint32_t>(7)
      .text("two words")
      .list(std::span<const uint16_t>(std::array<uint16_t, 2>{3, 4}));
  Reader from(to.bytes());
  EXPECT_EQ(from.get<uint32_t>(), 7u);
  EXPECT_EQ(from.text(), "two words");
  EXPECT_THAT(from.list<uint16_t>(), ElementsAre(3, 4));
  EXPECT_TRUE(from.whole());
}

TEST(ProcessMessages, ThatAreCutAreNotWhole) {
  Writer to;
  to.text("two words");
  for (size_t size = 0; size < to.bytes().size(); ++size) {
    Reader from(std::span(to.bytes()).first(size));
    EXPECT_EQ(from.text(), "");
    EXPECT_FALSE(from.whole());
  }
  // A length that is longer than all memory.
  Writer lie;
  lie.put<uint64_t>(UINT64_MAX);
  Reader from(lie.bytes());
  EXPECT_THAT(from.bytes(), IsEmpty());
  EXPECT_FALSE(from.whole());
}

TEST(ProcessMessages, ListsOfDevicesTravel) {
  Listing listing;
  listing.path = "/lib/vendor.so";
  ListedDevice& device = listing.devices.emplace_back();
  device.device = 2;
  device.traits.device_name = "a device";
  device.traits.features = {"cl_khr_fp64", "__opencl_c_images"};
  device.traits.image_sizes.layers = 12;
  device.traits.nominal_gflops = 2.5;
  device.traits.markers = false;
  const auto read = get_listing(text_of(listing));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->path, listing.path);
  ASSERT_EQ(read->devices.size(), 1u);
  const DeviceTraits& traits = read->devices[0].traits;
  EXPECT_EQ(read->devices[0].device, 2u);
  EXPECT_EQ(traits.device_name, "a device");
  EXPECT_EQ(traits.features, device.traits.features);
  EXPECT_EQ(traits.image_sizes.layers, 12u);
  EXPECT_EQ(traits.nominal_gflops, 2.5);
  EXPECT_FALSE(traits.markers);
  EXPECT_FALSE(get_listing("nothing of the kind"));
}

TEST(ProcessMessages, AddressesAndHandlesStayBehind) {
  DeviceTraits traits;
  traits.features = {"cl_khr_fp64", "cl_khr_semaphore", "cl_khr_external_memory_opaque_fd",
                     "__opencl_c_pipes"};
  traits.svm = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  traits.shares_host_memory = true;
  traits.max_parts = 8;
  leave_out_what_stays_behind(traits);
  EXPECT_THAT(traits.features, ElementsAre("cl_khr_fp64"));
  EXPECT_EQ(traits.svm, 0u);
  EXPECT_FALSE(traits.shares_host_memory);
  EXPECT_EQ(traits.max_parts, 1u);
  EXPECT_TRUE(traits.own_process);
  constexpr char kSaid[] = "cl_khr_fp64 cl_khr_semaphore cl_khr_fp16";
  const auto* bytes = reinterpret_cast<const std::byte*>(kSaid);
  const auto left = leave_out(CL_DEVICE_EXTENSIONS, {bytes, bytes + sizeof kSaid});
  EXPECT_STREQ(reinterpret_cast<const char*>(left.data()), "cl_khr_fp64 cl_khr_fp16");
}

TEST(SharedArena, GivesRangesThatDoNotMeetAndTakesThemBack) {
  const auto arena = SharedArena::create(64 * kMiB);
  ASSERT_TRUE(arena);
  {
    auto first = (*arena)->allocate(5), second = (*arena)->allocate(3 * kMiB),
         third = (*arena)->allocate(kMiB);
    ASSERT_TRUE(first && second && third);
    EXPECT_GE(second->offset(), first->offset() + first->size());
    EXPECT_GE(third->offset(), second->offset() + second->size());
    std::memset(second->data(), 1, second->size());
    EXPECT_EQ((*arena)->offset_of(second->data() + 9, 10), second->offset() + 9);
    EXPECT_FALSE((*arena)->allocate(62 * kMiB));
    int elsewhere = 0;
    EXPECT_FALSE((*arena)->offset_of(&elsewhere, sizeof elsewhere));
    EXPECT_FALSE((*arena)->offset_of((*arena)->mapping().data() + 64 * kMiB - 4, 5));
    // In another order than they came.
    second = SharedRange();
    first = SharedRange();
  }
  EXPECT_TRUE((*arena)->allocate(64 * kMiB));
}

TEST(SharedArena, KeepsWhatSomebodyMayStillWriteTo) {
  const auto arena = SharedArena::create(64 * kMiB);
  ASSERT_TRUE(arena);
  {
    const auto range = (*arena)->allocate(64 * kMiB);
    ASSERT_TRUE(range);
    (*arena)->keep_all();
  }
  EXPECT_FALSE((*arena)->allocate(4096));
}

class Lanes : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = SharedArena::create(64 * kMiB);
    ASSERT_TRUE(made);
    arena_ = std::move(*made);
    auto range = arena_->allocate(sizeof(Lane));
    ASSERT_TRUE(range);
    range_ = std::move(*range);
    lane_ = make_lane(range_.data());
  }
  std::unique_ptr<SharedArena> arena_;
  SharedRange range_;
  Lane* lane_ = nullptr;
};

TEST_F(Lanes, AnswerOneRequestAfterTheOther) {
  std::thread helper([this] { serve(*lane_, [this] { return ++lane_->size < 1000; }); });
  while (lane_->ready.load() == 0) std::this_thread::yield();
  for (uint64_t i = 0; i < 998; ++i) {
    post(*lane_);
    ASSERT_EQ(await(*lane_, UINT64_MAX), LaneEnd::kAnswered);
    ASSERT_EQ(lane_->size, i + 1);
  }
  // With its thread, which ends without an answer, the lane is dead.
  lane_->size = 1000;
  post(*lane_);
  helper.join();
  EXPECT_EQ(await(*lane_, UINT64_MAX), LaneEnd::kDead);
  post(*lane_);
  EXPECT_EQ(await(*lane_, UINT64_MAX), LaneEnd::kDead);
}

TEST_F(Lanes, NobodyWaitsBeyondTheDeadline) {
  std::atomic<bool> over{false};
  std::thread helper([&] {
    serve(*lane_, [&] {
      over.wait(false);
      return false;
    });
  });
  while (lane_->ready.load() == 0) std::this_thread::yield();
  post(*lane_);
  EXPECT_EQ(await(*lane_, now_ns() + 50'000'000), LaneEnd::kLate);
  over.store(true);
  over.notify_all();
  helper.join();
}

TEST(StagedContent, GoesWhereItWasAskedForOnce) {
  const auto arena = SharedArena::create(64 * kMiB);
  ASSERT_TRUE(arena);
  auto range = (*arena)->allocate(4);
  ASSERT_TRUE(range);
  std::memcpy(range->data(), "abcd", 4);
  std::array<char, 8> to{};
  to.fill('.');
  QueueProgress::Staged staged(std::move(*range),
                               {reinterpret_cast<std::byte*>(to.data()), 2, {2, 1}, {4, 8}});
  EXPECT_FALSE(staged.settled());
  staged.settle(true);
  EXPECT_EQ(std::string(to.data(), to.size()), "ab..cd..");
  EXPECT_TRUE(staged.settled());
  to.fill('.');
  staged.settle(true);
  EXPECT_EQ(std::string(to.data(), to.size()), "........");
}

}  // namespace
}  // namespace tutti::backends::process
