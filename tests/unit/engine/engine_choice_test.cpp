// SPDX-License-Identifier: Apache-2.0
// Which devices the planner lets take part, by what splits over them have cost.
#include "engine_fixture.h"
#include "scheduler/plan/planner.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineChoice : public EngineTest {
 protected:
  /// Devices 0 and 1 need 10 ms each, device 2 needs 30 ms.
  void SetUp() override {
    start({kSharesHost, kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = map_kernel(buffer(1), buffer(0), 1);
    for (int i = 0; i < 3; ++i) {
      set->model().add(model_key(work_), 0, kBytes, 0.01);
      set->model().add(model_key(work_), 1, kBytes, 0.01);
      set->model().add(model_key(work_), 2, kBytes, 0.03);
    }
    planner_ = std::make_unique<Planner>(*set, settings_);
  }
  /// Two devices of 10 ms.
  void use_two() {
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = known_kernel(KernelForm::kMap, buffer(1), buffer(0), 0.01,
                         [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
    planner_ = std::make_unique<Planner>(*set, settings_);
  }
  KernelPlan plan() const { return *planner_->plan(work_, set->real_devices()); }
  /// Split launches of this plan ended `seconds` later than they were priced.
  void ended(const KernelPlan& plan, double seconds) const {
    for (int i = 0; i < 2; ++i) {
      planner_->remember(work_, plan, plan.shares, plan.priced_seconds + seconds,
                         plan.priced_seconds);
    }
  }
  EngineSettings settings_;
  KernelWork work_;
  std::unique_ptr<Planner> planner_;
};

TEST_F(EngineChoice, WithoutADeviceThatMakesSplitsDear) {
  const KernelPlan all = plan();
  ASSERT_TRUE(all.split);
  ASSERT_EQ(all.participants, (std::vector<uint32_t>{0, 1, 2}));
  // 4.3 ms priced; two devices would need 5.
  ended(all, 0.0001);
  EXPECT_EQ(plan().participants.size(), 3u);
  ended(all, 0.002);
  const KernelPlan two = plan();
  ASSERT_TRUE(two.split);
  EXPECT_EQ(two.participants, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(two.split_seconds, 0.005, 5e-4);
  // Known by now, they are compared: two are better at a surplus of 1 ms, and worse at one of 3.
  ended(two, 0.001);
  EXPECT_EQ(plan().participants.size(), 2u);
  ended(two, 0.003);
  EXPECT_EQ(plan().participants.size(), 3u);
}

TEST_F(EngineChoice, OneDeviceWhereEverySplitIsDear) {
  ended(plan(), 0.02);
  ended(plan(), 0.02);
  EXPECT_FALSE(plan().split);
}

TEST_F(EngineChoice, AVerdictIsTriedAgainSoonAtFirstAndThenMoreSeldom) {
  use_two();
  const auto launches_until_tried = [&] {
    int launches = 1;
    while (!plan().split && launches < 1000) ++launches;
    return launches;
  };
  // 5 ms priced, and 7 ms more really: a trial loses 2 ms of the 10 that one device takes.
  const KernelPlan both = plan();
  ended(both, 0.007);
  EXPECT_NEAR(launches_until_tried(), 4, 1);  // 5 % of their time
  EXPECT_NEAR(launches_until_tried(), 8, 1);
  for (int i = 0; i < 4; ++i) launches_until_tried();
  EXPECT_NEAR(launches_until_tried(), 120, 12);  // all of its 12 ms count
  ended(both, 0.0001);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(plan().split);
}

// What made it seem so slow may have been an accident, and it computes nothing that would tell.
TEST_F(EngineChoice, ADeviceThatSeemsNotWorthHavingIsTriedNowAndThen) {
  constexpr int kLaunches = 3000;
  // Seconds on device 1, which gets a small part of a launch, or none; device 0 needs 10 ms.
  for (const double slow : {0.6, 1.5}) {
    SCOPED_TRACE(slow);
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = map_kernel(buffer(1), buffer(0), 1);
    for (int i = 0; i < 3; ++i) {
      set->model().add(model_key(work_), 0, kBytes, 0.01);
      set->model().add(model_key(work_), 1, kBytes, slow);
    }
    planner_ = std::make_unique<Planner>(*set, settings_);
    std::vector<int> tried;
    KernelPlan trial;
    for (int launch = 0; launch < kLaunches; ++launch) {
      KernelPlan now = plan();
      if (!now.split) continue;
      tried.push_back(launch);
      ASSERT_EQ(now.shares.size(), 2u);
      EXPECT_GT(now.shares[1], 0u);
      EXPECT_LT(now.shares[1], now.shares[0] / 10);
      trial = std::move(now);
    }
    // Soon at first, and then more and more seldom.
    ASSERT_GT(tried.size(), 3u);
    EXPECT_LT(tried.front(), 300);
    EXPECT_LT(tried.size(), 15u);
    EXPECT_GT(tried.back() - tried.end()[-2], tried[1] - tried[0]);
    // One trial in which it is as fast as the other shows it.
    const uint64_t items = trial.shares[1] * kGroup;
    set->model().add(model_key(work_), 1, items, 0.01 * static_cast<double>(items) / kBytes);
    const KernelPlan next = plan();
    ASSERT_TRUE(next.split);
    EXPECT_GT(next.shares[1], next.shares[0] / 4);
  }
}

TEST_F(EngineChoice, AThirdDeviceThatSeemsNotWorthHavingIsTriedNowAndThen) {
  start({kSharesHost, kSharesHost, kSharesHost}, SplitMode::kAuto);
  work_ = map_kernel(buffer(1), buffer(0), 1);
  for (int i = 0; i < 3; ++i) {
    for (const uint32_t device : {0u, 1u}) set->model().add(model_key(work_), device, kBytes, 0.01);
    set->model().add(model_key(work_), 2, kBytes, 1);
  }
  planner_ = std::make_unique<Planner>(*set, settings_);
  int tried = 0;
  for (int launch = 0; launch < 1000; ++launch) {
    const KernelPlan now = plan();
    ASSERT_TRUE(now.split);
    ASSERT_EQ(now.shares.size(), now.participants.size());
    tried += now.participants.size() == 3 ? 1 : 0;
  }
  EXPECT_GT(tried, 3);
  EXPECT_LT(tried, 15);
}

TEST_F(EngineChoice, WhatKeptDevicesBusyIsNoCostOfASplit) {
  use_two();
  KernelPlan busy = plan();
  busy.costs[1].wait = 0.02;  // one of them was, with something else
  ended(busy, 0.02);
  EXPECT_TRUE(plan().split);
  for (ComputeCost& cost : busy.costs) cost.wait = 0.02;
  ended(busy, 0.02);  // since all were free
  EXPECT_FALSE(plan().split);
}

TEST_F(EngineChoice, LaunchesLikeOneAreExpectedOneAfterTheOther) {
  use_two();
  KernelPlan whole = plan();
  whole.split = false;
  const Expectation three = planner_->begin(work_, whole, 3);  // of 10 ms each
  EXPECT_GT(three.end_ns, whole.from_ns + 29'000'000);
  EXPECT_LT(three.end_ns, whole.from_ns + 31'000'000);
  EXPECT_EQ(three.devices, backend_bit(whole.backend));
  EXPECT_GT(planner_->begin(work_, whole).end_ns, three.end_ns + 9'000'000);
}

TEST_F(EngineChoice, PartsOfABufferAreWrittenApart) {
  // By windows on the buffers, and by offsets in them.
  for (const bool windows : {true, false}) {
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    const auto in = buffer(1), out = buffer(0);
    const auto half = [&](uint64_t number) {
      KernelWork work = work_;
      const auto arguments = std::make_shared<ArgumentSet>(*work_.arguments);
      work.arguments = arguments;
      work.shape.global[0] = kBytes / 2;
      if (windows) {
        for (const size_t i : {0u, 1u}) {
          BufferView& view = (*arguments)[i].view;
          view.origin = number * kBytes / 2;
          view.size = kBytes / 2;
        }
      } else {
        work.shape.offset[0] = number * kBytes / 2;
      }
      return work;
    };
    work_ = known_kernel(KernelForm::kMap, in, out, 10,  // seconds: none of this takes as long

                         [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
    planner_ = std::make_unique<Planner>(*set, settings_);
    const auto plan_of = [&](const KernelWork& work) {
      return *planner_->plan(work, set->real_devices());
    };
    const KernelPlan first = plan_of(half(0));
    ASSERT_TRUE(first.split);
    planner_->begin(half(0), first);
    // What comes next on the same half finds its devices free when its data are there.
    EXPECT_FALSE(plan_of(half(0)).waits());
    EXPECT_TRUE(plan_of(half(1)).waits());
    EXPECT_TRUE(plan_of(half(1)).split);
  }
}

TEST_F(EngineChoice, AWholeLaunchNeedNotBeOnAParticipant) {
  // The split that was dearer left device 2 out, and no cost of it is kept.
  KernelPlan whole = plan();
  ASSERT_NE(whole.from_ns, 0u);
  whole.split = false;
  whole.backend = 2;
  whole.participants = {0, 1};
  whole.costs[2].call = 1;
  whole.costs.resize(2);
  whole.whole_seconds = 0.03;
  whole.wait_seconds = 0;
  const Expectation expected = planner_->begin(work_, whole);
  EXPECT_NEAR(static_cast<double>(expected.end_ns - whole.from_ns), 0.03e9, 0.001e9);
}

TEST_F(EngineChoice, AKernelSlowerThanExpectedIsNoCostOfItsSplit) {
  // As when only small launches were known, of which each work-item took a tenth of the time.
  const KernelPlan all = plan();
  for (int i = 0; i < 2; ++i) {
    planner_->remember(work_, all, all.shares, 0.044, 0.043);
  }
  const KernelPlan again = plan();
  EXPECT_TRUE(again.split);
  EXPECT_EQ(again.participants.size(), 3u);
}

TEST_F(EngineChoice, DataMoveToWhereLaterLaunchesFindThem) {
  // All lies on device 0; half of it takes 8 ms to device 1, and a launch there 5 ms.
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  const auto in = buffer(1), out = buffer(0);
  work_ = map_kernel(in, out, 1);
  for (int i = 0; i < 3; ++i) {
    for (const uint32_t device : {0u, 1u}) {
      set->model().add(model_key(work_), device, kBytes, 0.01);
      set->model().add(kToDevice, device, kBytes / 2, 0.004);
      set->model().add(kFromDevice, device, kBytes / 2, 0.004);
    }
  }
  planner_ = std::make_unique<Planner>(*set, settings_);
  for (const auto& one : {in, out}) {  // not by transfers, whose times would be learned
    ASSERT_TRUE(one->device_memory(0));
    one->set_exclusive(one->place_on(0), 0, kBytes);
  }
  EXPECT_FALSE(plan().split);
  int launches = 2;
  while (!plan().split && launches < 20) ++launches;
  EXPECT_EQ(launches, 2);
  // Now they have been moved.
  ASSERT_TRUE(in->make_valid(in->place_on(1), 0, kBytes));
  EXPECT_TRUE(plan().split);
  EXPECT_TRUE(plan().split);
}

TEST_F(EngineChoice, PackagesAreWorthTheirStart) {
  // 10 ms over 256 slices; a device that shares the host's memory starts one in 30 µs or less.
  const auto devices = planner_->balancer_devices(plan());
  EXPECT_GE(devices[0].worthwhile, 1u);
  EXPECT_LE(devices[0].worthwhile, 7u);
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  for (const double seconds : {0.01, 0.0005}) {
    work_ = known_kernel(KernelForm::kMap, buffer(1), buffer(0), seconds,
                         [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
    planner_ = std::make_unique<Planner>(*set, settings_);
    const KernelPlan two = plan();
    const double slice = seconds / static_cast<double>(two.shape.groups(0));
    const double start = two.costs[0].startup;
    for (const BalancerDevice& device : planner_->balancer_devices(two)) {
      EXPECT_GT(static_cast<double>(device.worthwhile + 1) * slice, 7 * start) << seconds;
      EXPECT_LT(static_cast<double>(device.worthwhile) * slice, 9 * start) << seconds;
    }
  }
}

/// Which device a launch behind one of another device is given.
class EngineStays : public EngineTest {
 protected:
  /// Two devices that take so long.
  void use(double first, double second) {
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = map_kernel(buffer(1), buffer(0), 1);
    for (int i = 0; i < 3; ++i) {
      if (first > 0) set->model().add(model_key(work_), 0, kBytes, first);
      if (second > 0) set->model().add(model_key(work_), 1, kBytes, second);
    }
    planner_ = std::make_unique<Planner>(*set, settings_);
  }
  uint32_t behind(uint32_t before) {
    return planner_->plan(work_, set->real_devices(), 0, before)->backend;
  }
  EngineSettings settings_;
  KernelWork work_;
  std::unique_ptr<Planner> planner_;
};

TEST_F(EngineStays, WhereTheLaunchBeforeWasUntilTheWayIsPaid) {
  use(20e-6, 30e-6);
  EXPECT_EQ(behind(kNoBackend), 0u);
  EXPECT_EQ(behind(0), 0u);
  const auto launches_until_left = [&] {
    int launches = 1;
    while (behind(1) == 1 && launches < 1000) ++launches;
    return launches;
  };
  EXPECT_NEAR(launches_until_left(), 10, 1);  // 10 us each, and 100 for the way
  EXPECT_NEAR(launches_until_left(), 20, 1);  // it did not stay there
}

TEST_F(EngineStays, AndGoesWhereItIsMuchFaster) {
  use(100e-6, 400e-6);
  EXPECT_EQ(behind(1), 0u);
}

TEST_F(EngineStays, WhereNothingTellsTheDevicesApart) {
  use(0, 0);
  work_.shape.global[0] = 1024;  // too few for a split
  EXPECT_EQ(behind(kNoBackend), 0u);
  EXPECT_EQ(behind(1), 1u);
}

TEST_F(EngineStays, ChainsOfSeveralKernelsOnOneDevice) {
  start({kSharesHost, kSharesHost}, SplitMode::kAuto);
  const auto stream = engine->create_stream({});
  // Each would be faster by a little on another device.
  auto there = map_kernel(buffer(1), buffer(0), 1), back = map_kernel(buffer(1), buffer(0), 1);
  back.kernel = fake_kernel(KernelForm::kGather, set->count());
  for (int i = 0; i < 3; ++i) {
    for (uint32_t device = 0; device < 2; ++device) {
      set->model().add(model_key(there), device, kBytes, device == 0 ? 10e-6 : 11e-6);
      set->model().add(model_key(back), device, kBytes, device == 0 ? 11e-6 : 10e-6);
    }
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(enqueue(*stream, there));
    ASSERT_TRUE(enqueue(*stream, back));
  }
  ASSERT_TRUE(engine->finish(*stream));
  EXPECT_EQ(fakes[0]->launches * fakes[1]->launches, 0u);
  EXPECT_GT(fakes[0]->launches + fakes[1]->launches, 0u);
}

/// Two devices that hold the halves which they computed last.
class EngineHelp : public EngineChoice {
 protected:
  /// The fewest slices that one takes over from the other where a launch takes `seconds` on one and
  /// its data as long as `moving` says.
  uint64_t least_help(double seconds, double moving) {
    place(seconds, moving, kBytes / 2);
    const KernelPlan plan = this->plan();
    EXPECT_TRUE(plan.split);
    slices = plan.shape.groups(0);
    return plan.least_help;
  }
  /// Device 0 holds all bytes before `boundary`, device 1 the others.
  void place(double seconds, double moving, uint64_t boundary) {
    planner_.reset();
    work_ = {};
    start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
    const auto in = buffer(1), out = buffer(0);
    work_ = known_kernel(KernelForm::kMap, in, out, seconds,
                         [](const FakeItem& item) { run_item(KernelForm::kMap, item); });
    for (const uint32_t device : {0u, 1u}) {
      for (int i = 0; i < 3; ++i) {
        set->model().add(kToDevice, device, kBytes, moving / 2);
        set->model().add(kFromDevice, device, kBytes, moving / 2);
      }
      for (const auto& one : {in, out}) {
        EXPECT_TRUE(one->device_memory(device));
        one->set_exclusive(one->place_on(device), device == 0 ? 0 : boundary,
                           device == 0 ? boundary : kBytes);
      }
    }
    planner_ = std::make_unique<Planner>(*set, settings_);
  }
  uint64_t slices = 0;
};

TEST_F(EngineHelp, WhereDataMoveFastSmallRestsOnlyAreLeftToTheirOwners) {
  const uint64_t least = least_help(0.1, 1e-6);
  EXPECT_EQ(least, slices / 32);
}

TEST_F(EngineHelp, WhereTheyMoveSlowlyMoreIsLeft) {
  const uint64_t least = least_help(0.004, 0.003);
  EXPECT_GT(least, slices / 32);
  EXPECT_LT(least, slices / 4);
}

TEST_F(EngineHelp, WhereTheyMoveMoreSlowlyThanTheirOwnerComputesAllIs) {
  const uint64_t least = least_help(0.004, 0.008);
  EXPECT_EQ(least, slices);
}

TEST_F(EngineHelp, LaunchesAreDividedWhereTheirDataLie) {
  for (const uint64_t eighths : {3u, 5u, 6u}) {
    SCOPED_TRACE(eighths);
    place(0.004, 0.016, eighths * kBytes / 8);
    const KernelPlan first = plan();
    ASSERT_TRUE(first.split);
    const uint64_t all = first.shape.groups(0);
    EXPECT_EQ(first.shares[0], eighths * all / 8);
    // Until what that costs would have paid for moving the data: 3 ms for an eighth of them, which
    // saves half a millisecond.
    int launches = 1;
    while (launches < 100 && plan().shares[0] != all / 2) ++launches;
    EXPECT_GE(launches, 4);
    EXPECT_LE(launches, 12);
  }
}

TEST_F(EngineHelp, WhereDataMoveFastLaunchesAreDividedByTheDevicesSpeeds) {
  place(0.1, 1e-3, 5 * kBytes / 8);
  const KernelPlan now = plan();
  ASSERT_TRUE(now.split);
  EXPECT_EQ(now.shares[0], now.shape.groups(0) / 2);
}

/// Launches whose results cross a link that takes 8 ms for all of them.
class EngineGathers : public EngineChoice {
 protected:
  void use(const FakeKinds& devices, SplitMode split, const std::vector<double>& seconds) {
    start(devices, split);
    out_ = buffer(0);
    work_ = map_kernel(buffer(1), out_, 1);
    for (uint32_t device = 0; device < seconds.size(); ++device) {
      for (int i = 0; i < 3; ++i) {
        set->model().add(model_key(work_), device, kBytes, seconds[device]);
        set->model().add(kToDevice, device, kBytes, 1e-6);
        set->model().add(kFromDevice, device, kBytes, 0.008);
      }
    }
    settings_.split = split;
    planner_ = std::make_unique<Planner>(*set, settings_);
  }
  Ref<LogicalBuffer> out_;
};

TEST_F(EngineGathers, AreCheapestWhereTheHostHasTheResults) {
  use({kSharesHost, kOwnMemory}, SplitMode::kNever, {0.010, 0.008});
  EXPECT_EQ(plan().backend, 1u);
  out_->read_back = kBytes;
  EXPECT_EQ(plan().backend, 0u);
  out_->read_back = 64;  // hardly anything of them
  EXPECT_EQ(plan().backend, 1u);
}

TEST_F(EngineGathers, FromSeveralDevicesAtOnceAreWorthASplit) {
  use({kOwnMemory, kOwnMemory}, SplitMode::kAuto, {0.00015, 0.00015});
  EXPECT_FALSE(plan().split);
  out_->read_back = kBytes;
  const KernelPlan both = plan();
  ASSERT_TRUE(both.split);
  EXPECT_NEAR(both.whole_gather, 0.008, 1e-4);
  EXPECT_NEAR(both.split_gather, 0.004, 1e-4);
}

TEST_F(EngineGathers, AreExpectedWhereTheLastLaunchWasRead) {
  use({kOwnMemory, kOwnMemory}, SplitMode::kAuto, {0.01, 0.01});
  const auto stream = engine->create_stream({});
  const auto launch = [&] { ASSERT_TRUE(enqueue(*stream, work_)); };
  launch();
  read(*stream, out_);
  EXPECT_EQ(out_->read_back, kBytes);
  launch();
  ASSERT_TRUE(engine->finish(*stream));
  EXPECT_EQ(out_->read_back, 0u);
}

class EngineFar : public EngineGathers {};

TEST_F(EngineFar, GetsNothingBeforeItIsKnownToBeWorthTheWay) {
  start({kSharesHost, kFar}, SplitMode::kAuto);
  work_ = map_kernel(buffer(1), buffer(0), 1);
  planner_ = std::make_unique<Planner>(*set, settings_);
  const KernelPlan first = plan();
  EXPECT_FALSE(first.split);
  EXPECT_EQ(first.backend, 0u);
  EXPECT_EQ(first.why, KernelPlan::Why::kFar);
  // Among themselves they are as others are.
  start({kFar, kFar}, SplitMode::kAuto);
  work_ = map_kernel(buffer(1), buffer(0), 1);
  planner_ = std::make_unique<Planner>(*set, settings_);
  EXPECT_NE(plan().why, KernelPlan::Why::kFar);
}

TEST_F(EngineFar, GetsItsPartOfALaunchThatIsWorthTheWay) {
  use({kSharesHost, kFar}, SplitMode::kAuto, {1, 1});
  const KernelPlan both = plan();
  ASSERT_TRUE(both.split);
  ASSERT_EQ(both.shares.size(), 2u);
  EXPECT_LT(both.shares[1], both.shares[0]);
  // Half as long, half of the ways there (the call's, and those of what it needs), and two more.
  EXPECT_NEAR(both.split_seconds, 0.57, 0.015);
}

TEST_F(EngineFar, GetsNoneOfALaunchThatIsOverSooner) {
  // It takes no time to compute there.
  use({kSharesHost, kFar}, SplitMode::kAuto, {0.03, 1e-6});
  EXPECT_FALSE(plan().split);
  EXPECT_EQ(plan().backend, 0u);
}

TEST_F(EngineFar, GetsNoneOfALaunchWhoseResultsTakeLonger) {
  use({kSharesHost, kFar}, SplitMode::kAuto, {0.1, 0.001});
  EXPECT_EQ(plan().backend, 1u);
  out_->read_back = kBytes;
  EXPECT_EQ(plan().backend, 1u);  // one more trip
  use({kSharesHost, kFar}, SplitMode::kAuto, {0.075, 0.001});
  EXPECT_EQ(plan().backend, 1u);
  out_->read_back = kBytes;
  EXPECT_EQ(plan().backend, 0u);
}

}  // namespace
}  // namespace tutti::testing
