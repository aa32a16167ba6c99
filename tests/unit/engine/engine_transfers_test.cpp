// SPDX-License-Identifier: Apache-2.0
// Transfers that nobody waits for: small ones between launches that repeat, and large ones to a
// device that computes in the host's memory.
#include <semaphore>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineTransfers : public EngineTest {
 protected:
  /// Nobody asks for its end.
  void enqueue_unobserved(Stream& stream, Work work) {
    EnqueueOptions options;
    options.observed = false;
    EXPECT_TRUE(engine->enqueue(stream, std::move(work), options));
  }
  /// True when it repeats another one.
  bool launch(Stream& stream, const std::shared_ptr<LaunchableKernel>& kernel,
              const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out, uint32_t c) {
    KernelWork work = map_kernel(in, out, c);
    work.kernel = kernel;
    if (launch_again(*engine, stream, work)) return true;
    enqueue_unobserved(stream, work);
    return false;
  }
  /// First launches are measured.
  void launch_until_again(Stream& stream, const std::shared_ptr<LaunchableKernel>& kernel,
                          const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    int launches = 1;
    for (; launches < 5000 && !launch(stream, kernel, in, out, 100); ++launches) {
      if (launches % 50 == 0) {
        EXPECT_TRUE(engine->finish(stream));
      }
    }
    EXPECT_LT(launches, 5000);
  }
  static FillWork fill(const Ref<LogicalBuffer>& buffer, uint8_t value) {
    FillWork work;
    work.to = whole(buffer);
    work.size = kBytes;
    work.pattern[0] = std::byte{value};
    work.pattern_size = 1;
    return work;
  }
};

TEST_F(EngineTransfers, LaunchesRepeatBetweenSmallFillsAndReads) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kSharesHost}, {kOwnMemory}, {kCostlyTimes}}) {
    start(devices, SplitMode::kAuto);
    auto stream = engine->create_stream({});
    const auto kernel = fake_kernel(KernelForm::kMap, set->count());
    LogicalBuffer::Options options;
    options.size = kBytes;
    const auto in = *LogicalBuffer::create(*set, options), out = buffer(0);
    enqueue_unobserved(*stream, fill(in, 1));  // where the device computes, and nowhere else
    launch_until_again(*stream, kernel, in, out);
    enqueue_unobserved(*stream, fill(in, 0));
    EXPECT_TRUE(engine->finish(*stream));
    int again = 0;
    for (uint8_t c = 0; c < 50; ++c) {
      std::vector<std::byte> found(kBytes);
      again += launch(*stream, kernel, in, out, c) ? 1 : 0;
      enqueue_unobserved(*stream, ReadWork{whole(out), 0, kBytes, found.data()});
      enqueue_unobserved(*stream, fill(in, static_cast<uint8_t>(c + 1)));
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(found, filled(static_cast<uint8_t>(c * 3 + c))) << devices;
    }
    EXPECT_GT(again, 40) << devices;
  }
}

// Nothing rests when a round begins, since the first one ended with several commands. And with
// another device beside it, small content goes to the one that alone uses it.
TEST_F(EngineTransfers, LaunchesRepeatWhereEachRoundBeginsWithAFill) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost},
                                                         {kOwnMemory},
                                                         {kCostlyTimes},
                                                         {kOwnMemory, kSharesHost},
                                                         {kCostlyTimes, kSharesHost},
                                                         {kSynchronous, kSynchronous}}) {
    SCOPED_TRACE(devices);
    start(devices, SplitMode::kNever);
    auto first = engine->create_stream({}), stream = engine->create_stream({});
    const auto kernel = fake_kernel(KernelForm::kMap, set->count());
    const auto in = buffer(1), out = buffer(0);
    KernelWork known = map_kernel(in, out, 1);
    known.kernel = kernel;
    for (uint32_t device = 0; device < set->count(); ++device) {
      for (int run = 0; run < 2; ++run) {
        set->model().add(model_key(known), device, kBytes, device == 0 ? 1e-6 : 1);
      }
    }
    launch_until_again(*first, kernel, in, out);
    EXPECT_TRUE(engine->finish(*first));
    int again = 0;
    for (uint8_t c = 0; c < 50; ++c) {
      enqueue_unobserved(*stream, fill(in, c));
      again += launch(*stream, kernel, in, out, c) ? 1 : 0;
      std::vector<std::byte> found(kBytes);
      enqueue_unobserved(*stream, ReadWork{whole(out), 0, kBytes, found.data()});
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(found, filled(static_cast<uint8_t>(c * 4)));
    }
    EXPECT_GT(again, 35);
  }
}

TEST_F(EngineTransfers, AWriteTakesWhatAReadOfATrainBrings) {
  // One reads the source of a write when that is enqueued. With two devices a write to what the
  // host has could overtake the launches.
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kReadsAhead}, {kOwnMemory, kOwnMemory}}) {
    start(devices, SplitMode::kNever);
    auto stream = engine->create_stream({});
    std::atomic<bool> holds{false};
    std::binary_semaphore held{0}, go{0};
    const auto kernel = std::make_shared<FakeKernel>(
        summary_of(KernelForm::kMap),
        [&](const FakeItem& item) {
          if (item.global_id[0] == 0 && holds.exchange(false)) {
            held.release();
            go.acquire();
          }
          const auto c = static_cast<uint8_t>(item.scalar<uint32_t>(3));
          const size_t i = item.global_id[0];
          item.memory(1)[i] =
              static_cast<std::byte>(static_cast<uint8_t>(item.memory(0)[i]) * 3 + c);
        },
        set->count());
    const auto in = buffer(1), out = buffer(0), other = buffer(9);
    launch_until_again(*stream, kernel, in, out);
    ASSERT_TRUE(engine->finish(*stream));
    holds = true;
    launch(*stream, kernel, in, out, 4);
    held.acquire();
    std::vector<std::byte> between(kBytes);
    enqueue_unobserved(*stream, ReadWork{whole(out), 0, kBytes, between.data()});
    enqueue_unobserved(*stream, WriteWork{whole(other), 0, kBytes, between.data()});
    go.release();
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ(between, filled(7)) << devices;
    EXPECT_EQ(read(*stream, other), filled(7)) << devices;
  }
}

TEST_F(EngineTransfers, TheOnlyDeviceMovesWhatLiesInItsMemory) {
  start({kSharesHost}, SplitMode::kAuto);
  constexpr uint64_t kLarge = 2 << 20;
  auto stream = engine->create_stream({});
  LogicalBuffer::Options options;
  options.size = kLarge;
  const auto large = *LogicalBuffer::create(*set, options);
  const std::vector<std::byte> content(kLarge, std::byte{7});
  std::vector<std::byte> found(kLarge);
  enqueue_unobserved(*stream, WriteWork{{large, 0, kLarge}, 0, kLarge, content.data()});
  enqueue_unobserved(*stream, ReadWork{{large, 0, kLarge}, 0, kLarge, found.data()});
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(found, content);
  // Behind the launches of its queue, with no thread of ours between.
  EXPECT_EQ(fakes[0]->bytes_in, kLarge);
  EXPECT_EQ(fakes[0]->bytes_out, kLarge);
}

TEST_F(EngineTransfers, DevicesThatComputeInTheCallersThreadFindTheirDataThere) {
  start({kSynchronous, kSynchronous}, SplitMode::kAuto);
  constexpr uint64_t kLarge = 16 << 20;
  auto stream = engine->create_stream({});
  LogicalBuffer::Options options;
  options.size = kLarge;
  const auto large = *LogicalBuffer::create(*set, options);
  const std::vector<std::byte> content(kLarge, std::byte{7});
  const auto written = enqueue(*stream, WriteWork{{large, 0, kLarge}, 0, kLarge, content.data()});
  ASSERT_TRUE(written);
  EXPECT_EQ((*written)->status(), CL_COMPLETE);
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineTransfers, WhatIsWrittenThroughAMappingIsNewAlsoWhereADeviceHoldsAPart) {
  for (const bool discard : {false, true}) {
    start({kOwnMemory}, SplitMode::kNever);
    auto stream = engine->create_stream({});
    auto a = buffer(1), b = buffer(5);
    const auto host = a->host_memory();
    ASSERT_TRUE(host);
    ASSERT_TRUE(a->make_valid(kHostPlace, 0, kBytes));
    ASSERT_TRUE(a->make_valid(1, 0, kBytes));
    a->set_exclusive(kHostPlace, kBytes / 2, kBytes);
    ASSERT_TRUE(enqueue(*stream, MapWork{whole(a), 0, kBytes, discard}, {}, true));
    std::fill_n(*host, kBytes, std::byte{9});
    ASSERT_TRUE(enqueue(*stream, UnmapWork{whole(a), 0, kBytes, true}));
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    EXPECT_EQ(read(*stream, b), filled(28));
    engine.reset();
  }
}

}  // namespace
}  // namespace tutti::testing
