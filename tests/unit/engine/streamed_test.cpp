// SPDX-License-Identifier: Apache-2.0
// Launches that need more memory than their devices have: windows that move, results that leave,
// who takes part, and what others do meanwhile. (Random programs are in engine_property_test.cpp.)
#include "engine_fixture.h"
#include "scheduler/plan/shard_ranges.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class Streamed : public EngineTest {
 protected:
  Streamed() { shard_unit = 64; }
  static constexpr uint64_t kSmall = kBytes / 2;  // a quarter of what a launch of two buffers needs
  /// Devices of which each holds a quarter of two buffers, and fails to allocate more.
  void start_small(const FakeKinds& devices) {
    start(devices, SplitMode::kAuto, kSmall);
    for (FakeBackend* fake : fakes) fake->memory_left = kSmall;
  }
  cl_int launch(Stream& stream, KernelWork work) {
    const auto command = enqueue(stream, std::move(work));
    EXPECT_TRUE(command) << command.error().message;
    if (!command) return command.error().code;
    static_cast<void>(engine->finish(stream));
    return (*command)->status();
  }
  KernelWork kernel(KernelForm form, const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    for (FakeBackend* fake : fakes) fake->measured_ns = 5'000'000;
    return known_kernel(form, in, out, 1e-2,
                        [form](const FakeItem& item) { run_item(form, item); });
  }
};

TEST_F(Streamed, OneDeviceComputesMoreThanItHolds) {
  start_small({kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, b)), CL_COMPLETE);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, b, a)), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(7));
  EXPECT_EQ(read(*stream, a), filled(22));
  EXPECT_LE(set->memory(0).peak(), kSmall);
}

TEST_F(Streamed, MemoryStaysWhereItIsEnough) {
  start_small({kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  const auto there = kernel(KernelForm::kMap, a, b), back = kernel(KernelForm::kMap, b, a);
  const auto launches = [&](int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(launch(*stream, there), CL_COMPLETE);
      EXPECT_EQ(launch(*stream, back), CL_COMPLETE);
    }
    return fakes[0]->allocations.load();
  };
  const uint32_t before = launches(2);
  EXPECT_EQ(launches(10), before);
  uint8_t expected = 2;
  for (int i = 0; i < 24; ++i) expected = static_cast<uint8_t>(expected * 3 + 1);
  EXPECT_EQ(read(*stream, a), filled(expected));
}

TEST_F(Streamed, WhatComesFromNeighboursIsThere) {
  start_small({kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(1), b = buffer(0);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kStencil, a, b)), CL_COMPLETE);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kStencil, b, a)), CL_COMPLETE);
  const auto bytes = read(*stream, a);
  for (size_t i = 2; i + 2 < kBytes; ++i) ASSERT_EQ(bytes[i], std::byte{9}) << i;
}

TEST_F(Streamed, EachDeviceTakesPart) {
  start_small({kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, b)), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(7));
  for (const FakeBackend* fake : fakes) EXPECT_GT(fake->launches, 0u);
}

TEST_F(Streamed, WhatIsReadAnywhereMustFit) {
  start(FakeKinds{kOwnMemory}, SplitMode::kAuto, kBytes + kSmall);
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kGather, a, b)), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(3));
  EXPECT_EQ(a->shard_range(0).size(), kBytes);
  EXPECT_LE(b->shard_range(0).size(), kSmall);
}

TEST_F(Streamed, WhatCannotBeDividedIsRefused) {
  start_small({kOwnMemory});
  auto stream = engine->create_stream({});
  for (const auto form : {KernelForm::kScatter, KernelForm::kGather}) {
    const auto refused = enqueue(*stream, kernel(form, buffer(2), buffer(0)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
}

TEST_F(Streamed, ResultsAreInTheHostsCopyWhenItEnds) {
  start_small({kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, b)), CL_COMPLETE);
  EXPECT_TRUE(b->valid_at(kHostPlace, 0, kBytes));
}

TEST_F(Streamed, WhatADeviceHasAloneIsFoundByTheOthers) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto, kBytes + kSmall);
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  // All of it on the first device alone.
  ASSERT_TRUE(a->make_valid(a->place_on(0), 0, kBytes));
  a->set_exclusive(a->place_on(0), 0, kBytes);
  const auto c = buffer(1);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kStencil, a, b)), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b)[kBytes / 2], std::byte{6});
}

TEST_F(Streamed, LaunchesThatReadTheSameWaitForEachOther) {
  start_small({kOwnMemory, kOwnMemory});
  std::vector<Ref<Stream>> streams;
  std::vector<Ref<LogicalBuffer>> outs;
  const auto in = buffer(2);
  for (int i = 0; i < 4; ++i) {
    outs.push_back(buffer(0));
    streams.push_back(engine->create_stream({}));
    ASSERT_TRUE(enqueue(*streams.back(), kernel(KernelForm::kMap, in, outs.back())));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    EXPECT_TRUE(engine->finish(*streams[i]));
    EXPECT_EQ(read(*streams[i], outs[i]), filled(7));
  }
}

TEST_F(Streamed, WhereADeviceFailsAnotherOneGoesOn) {
  start_small({kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  for (const auto failure : {&FakeBackend::refuse_launches, &FakeBackend::fail_launches}) {
    fakes[0]->*failure = 1;
    EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, b)), CL_COMPLETE);
    EXPECT_EQ(read(*stream, b), filled(7));
  }
}

TEST_F(Streamed, WhatAFailedPackageHasNeededIsInTheHostsCopy) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto, kBytes / 4);
  auto stream = engine->create_stream({});
  const auto a = buffer(2);
  EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, a)), CL_COMPLETE);
  for (const auto failure : {&FakeBackend::refuse_launches, &FakeBackend::fail_launches}) {
    fakes[0]->*failure = 1;
    EXPECT_EQ(launch(*stream, kernel(KernelForm::kMap, a, a)), CL_COMPLETE);
  }
  EXPECT_EQ(read(*stream, a), filled(67));
}

// Of data that no device has memory for, each counts what it gets, in a copy that stays while its
// windows move.
TEST_F(Streamed, WhatIsMergedIsInCopiesThatStay) {
  std::vector<std::byte> data(kBytes), counts(64, std::byte{3});
  for (uint32_t i = 0; i < kBytes; ++i) data[i] = std::byte(i * i % 251);
  std::vector<std::byte> expected = counts;
  constexpr int kTimes = 3;
  for (int time = 0; time < kTimes; ++time) {
    for (uint32_t i = 0; i < kBytes; ++i) {
      apply(KernelForm::kCount, data.data(), expected.data(), i, kBytes, 1);
    }
  }
  for (const FakeKinds& devices : {FakeKinds{kOwnMemory}, FakeKinds{kOwnMemory, kOwnMemory},
                                   FakeKinds{kOwnMemory, kOwnMemory, kSharesHost}}) {
    start_small(devices);
    auto stream = engine->create_stream({});
    const auto in = *engine->create_buffer({.size = kBytes}, data.data());
    const auto out = *engine->create_buffer({.size = counts.size()}, counts.data());
    for (int time = 0; time < kTimes; ++time) {
      // What a device had counted when it failed is counted elsewhere.
      if (devices.size() > 1 && time > 0) fakes[0]->fail_launches = 1;
      EXPECT_EQ(launch(*stream, kernel(KernelForm::kCount, in, out)), CL_COMPLETE);
    }
    std::vector<std::byte> seen(counts.size());
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, seen.size(), seen.data()}, {}, true));
    EXPECT_EQ(seen, expected) << to_string(devices);
    uint64_t packages = 0;
    for (const FakeBackend* fake : fakes) packages += fake->launches;
    EXPECT_GT(packages, 2u * kTimes) << to_string(devices);
    EXPECT_LE(set->memory(0).peak(), kSmall);
  }
}

// Where several devices found something, one would have to search all: one does from the start.
TEST_F(Streamed, OneDeviceSearchesWhatNoneHolds) {
  constexpr uint32_t kEvery = 97;
  std::vector<std::byte> data(kBytes, std::byte{7});
  std::vector<std::byte> expected;
  for (uint32_t i = 5; i < 256; i += kEvery) {  // numbers are bytes
    data[i] = std::byte{1};
    expected.push_back(std::byte(i));
  }
  for (const auto& [devices, seldom] :
       {std::pair(FakeKinds{kOwnMemory}, true), std::pair(FakeKinds{kOwnMemory, kOwnMemory}, true),
        std::pair(FakeKinds{kOwnMemory, kOwnMemory}, false)}) {
    start_small(devices);
    auto stream = engine->create_stream({});
    const auto in = *engine->create_buffer({.size = kBytes}, data.data());
    const std::vector<std::byte> nothing(64);
    const auto out = *engine->create_buffer({.size = nothing.size()}, nothing.data());
    KernelSummary summary = summary_of(KernelForm::kSearch);
    // A kernel that counts all the time runs whole where a device has memory for that.
    summary.accesses.back().seldom = seldom;
    KernelWork work = kernel(KernelForm::kSearch, in, out);
    work.kernel = std::make_shared<FakeKernel>(
        summary, [](const FakeItem& item) { run_item(KernelForm::kSearch, item); }, set->count());
    EXPECT_EQ(launch(*stream, work), CL_COMPLETE);
    std::vector<std::byte> seen(nothing.size());
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, seen.size(), seen.data()}, {}, true));
    EXPECT_EQ(seen[0], std::byte(expected.size())) << to_string(devices);
    std::sort(seen.begin() + 4, seen.begin() + 4 + static_cast<ptrdiff_t>(expected.size()));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), seen.begin() + 4));
    EXPECT_LE(set->memory(0).peak(), kSmall);
  }
}

TEST_F(Streamed, WhereAllDevicesFailItIsTold) {
  start_small({kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  for (FakeBackend* fake : fakes) fake->fail_launches = 1000;
  EXPECT_LT(launch(*stream, kernel(KernelForm::kMap, a, b)), 0);
}

TEST_F(Streamed, AFastDeviceStreamsWhatASlowOneHasMemoryFor) {
  start({kOwnMemory, kSharesHost}, SplitMode::kAuto, kSmall);
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  const auto work = kernel(KernelForm::kMap, a, b);
  // A hundred times as fast as the host, whose memory has all.
  for (int run = 0; run < 40; ++run) set->model().add(model_key(work), 1, kBytes, 1.0);
  EngineSettings settings;
  settings.shard_unit = shard_unit;
  const Planner planner(*set, settings);
  const auto plan = planner.plan(work, ~BackendMask{0});
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->streamed());
  EXPECT_EQ(plan->windows[1], 0u);
  EXPECT_GT(plan->shares[0], plan->slices() * 3 / 4);
  EXPECT_LT(plan->windows[0], plan->shares[0]);
  EXPECT_EQ(launch(*stream, work), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(7));
}

TEST_F(Streamed, WhoStreamsIsAsSlowAsItsLink) {
  constexpr uint32_t kMany = 16 << 20;
  const double link = 2.0 * kMany / kLinkBytesPerSecond;
  const auto hosts_part = [&](double device_seconds, double host_seconds) {
    start({kOwnMemory, kSharesHost}, SplitMode::kAuto, kMany / 2);
    const auto a = *LogicalBuffer::create(*set, {.size = kMany});
    const auto b = *LogicalBuffer::create(*set, {.size = kMany});
    KernelWork work = map_kernel(a, b, 1);
    work.shape.global[0] = kMany;
    auto arguments = std::make_shared<ArgumentSet>(*work.arguments);
    std::memcpy((*arguments)[2].bytes.data(), &kMany, sizeof kMany);
    work.arguments = std::move(arguments);
    for (int run = 0; run < 3; ++run) {
      set->model().add(model_key(work), 0, kMany, device_seconds);
      set->model().add(model_key(work), 1, kMany, host_seconds);
    }
    EngineSettings settings;
    settings.shard_unit = 4096;
    const Planner planner(*set, settings);
    static_cast<void>(
        planner.plan(work, ~BackendMask{0}));  // a first time who helps little is tried
    const auto plan = planner.plan(work, ~BackendMask{0});
    EXPECT_TRUE(plan && plan->streamed());
    if (!plan || !plan->streamed()) return 0.0;
    return static_cast<double>(plan->shares[1]) / static_cast<double>(plan->slices());
  };
  EXPECT_NEAR(hosts_part(1e-4 * link, 2 * link), 1.0 / 3, 0.05);
  // Were all there, the launch would not be worth dividing.
  EXPECT_NEAR(hosts_part(link / 20, 2 * link), 1.0 / 3, 0.05);
}

TEST_F(Streamed, WhoCannotHaveAPartIsLeftOut) {
  start_small({kOwnMemory, kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  struct OnTheFirstOnly : FakeKernel {
    using FakeKernel::FakeKernel;
    Result<backends::Kernel*> vendor_kernel(uint32_t backend, KernelVariant variant) override {
      if (backend == 1 && variant == KernelVariant::kShards) return fail(CL_BUILD_PROGRAM_FAILURE);
      return FakeKernel::vendor_kernel(backend, variant);
    }
  };
  for (FakeBackend* fake : fakes) fake->measured_ns = 5'000'000;
  const auto work = known_kernel<OnTheFirstOnly>(
      KernelForm::kMap, a, b, 1e-2, [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
  EXPECT_EQ(launch(*stream, work), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(7));
  EXPECT_EQ(fakes[1]->launches, 0u);
}

TEST_F(Streamed, ItsTimesAreLearned) {
  start_small({kOwnMemory});
  auto stream = engine->create_stream({});
  const auto a = buffer(2), b = buffer(0);
  KernelWork work = map_kernel(a, b, 1);
  work.kernel = std::make_shared<FakeKernel>(
      summary_of(KernelForm::kMap), [](const FakeItem& item) { run_item(KernelForm::kMap, item); },
      set->count());
  fakes[0]->measured_ns = 1'000;
  EXPECT_EQ(launch(*stream, work), CL_COMPLETE);
  EXPECT_GT(fakes[0]->launches, 4u);
  EXPECT_TRUE(set->model().fit(model_key(work), 0).reliable(kBytes));
}

TEST_F(Streamed, MovedMemoryIsTheSame) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const auto made = buffer(3);
  ASSERT_TRUE(made->reshape(0, {0, 1024}));
  const Place place = made->place_on(0);
  ASSERT_TRUE(made->make_valid(place, 0, 1024));
  made->set_exclusive(place, 0, 1024);
  const uint32_t allocations = fakes[0]->allocations;
  const auto* const memory = made->shard(0, 0, 1024)->memory;
  ASSERT_TRUE(made->move_shard(0, {512, 1024}));
  EXPECT_EQ(fakes[0]->allocations, allocations);
  EXPECT_EQ(made->shard(0, 512, 1024)->memory, memory);
  EXPECT_EQ(made->allocated_bytes(0), 1024u);
  EXPECT_TRUE(made->valid_only_at(kHostPlace, 0, 1024));
  ASSERT_TRUE(made->move_shard(0, {512, 2048}));
  EXPECT_EQ(made->allocated_bytes(0), 1536u);
  EXPECT_FALSE(made->shard(0, 0, 512));
}

TEST(ShardRanges, StretchedRangesHoldWhatTheyBeganAs) {
  for (const uint64_t size : {1000u, 1024u, 4096u}) {
    for (uint64_t begin = 0; begin < size; begin += 64) {
      for (uint64_t end = begin + 1; end <= size; end += 61) {
        for (const uint64_t bytes : {uint64_t{1}, end - begin, end - begin + 128, size}) {
          const ByteRange made = stretched({begin, end}, bytes, 64, size);
          EXPECT_LE(made.begin, begin);
          EXPECT_GE(made.end, end);
          EXPECT_LE(made.end, size);
          EXPECT_EQ(made.begin % 64, 0u);
          EXPECT_LE(made.size(), std::max(bytes, end - begin));
          EXPECT_GE(made.size() + 64, std::min(bytes, size));
        }
      }
    }
  }
}

TEST(ShardRanges, WindowsHoldTheirPackage) {
  for (uint64_t first = 0; first < 20; ++first) {
    for (uint64_t count = 1; first + count <= 20; ++count) {
      for (uint64_t most = 1; most <= 24; ++most) {
        for (const bool downwards : {false, true}) {
          const SliceRange window = window_around({first, count}, most, downwards, 20);
          EXPECT_TRUE(window.holds({first, count}));
          EXPECT_LE(window.end(), 20u);
          EXPECT_LE(window.count, std::max(most, count));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::testing
