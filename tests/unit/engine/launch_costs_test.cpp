// SPDX-License-Identifier: Apache-2.0
// What launches are expected to cost, from a model and from where data lie, without an engine.
#include "scheduler/plan/launch_costs.h"

#include "fake_kernels.h"
#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class LaunchCostsTest : public LogTest {
 protected:
  enum : uint32_t { kGpu, kCpu, kThere };
  static constexpr uint64_t kKernel = 7, kItems = 1 << 20;

  KernelWork kernel(KernelForm form) {
    auto arguments = std::make_shared<ArgumentSet>(4);
    for (size_t i = 0; i < 2; ++i) {
      (*arguments)[i].kind = ArgumentSlot::Kind::kBuffer;
      (*arguments)[i].view = {i == 0 ? in : out, 0, kBytes};
    }
    KernelWork work;
    work.kernel = fake_kernel(form, 2);
    work.arguments = arguments;
    return work;
  }
  /// Twice: of a first run the model thinks that it may have been an outlier.
  void measure(uint32_t backend, double seconds) {
    for (int run = 0; run < 2; ++run) set().model().add(kKernel, backend, kItems, seconds);
  }

  FakeBackend& gpu = add_device(kOwnMemory);
  FakeBackend& cpu = add_device(kSharesHost);
  FakeBackend& there = add_device(kFar);
  LaunchCosts costs{set()};
  Ref<LogicalBuffer> in = buffer(), out = buffer();
  const std::vector<uint32_t> both{kGpu, kCpu};
  std::vector<ComputeCost> found;
};

TEST_F(LaunchCostsTest, BeforeAnythingIsKnownOnlyRatiosCount) {
  EXPECT_FALSE(costs.compute(kKernel, kItems, both, found));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[kGpu].measured);
  const double nominal = set().traits(kGpu).nominal_gflops / set().traits(kCpu).nominal_gflops;
  EXPECT_DOUBLE_EQ(found[kGpu].rate / found[kCpu].rate, nominal);
}

TEST_F(LaunchCostsTest, WhatIsMeasuredIsBelieved) {
  measure(kGpu, 1e-3);
  measure(kCpu, 4e-3);
  EXPECT_TRUE(costs.compute(kKernel, kItems, both, found));
  EXPECT_TRUE(found[kGpu].measured);
  EXPECT_TRUE(found[kCpu].measured);
  EXPECT_NEAR(found[kCpu].seconds(kItems) / found[kGpu].seconds(kItems), 4, 0.5);
}

// Neighbours that hinder each other: packages beside each other took five
// times as long as they would have alone.
TEST_F(LaunchCostsTest, PackagesBesideOthersSayNothingOfAWholeLaunch) {
  set().model().set_neighbours(both);
  for (const uint32_t device : both) {
    for (int run = 0; run < 3; ++run) set().model().add_whole(kKernel, device, kItems, 1e-3);
  }
  for (int split = 0; split < 100; ++split) {
    for (const uint32_t device : both) {
      const Sample package{kItems / 2.0, 2.5e-3};
      set().model().add_packages(kKernel, device, {&package, 1});
    }
  }
  EXPECT_TRUE(costs.compute(kKernel, kItems, both, found));
  for (const ComputeCost& cost : found) {
    EXPECT_NEAR(cost.seconds(kItems), 1e-3, 0.1e-3);  // a split of 2.5 ms is dearer
    EXPECT_NEAR(kItems / 2 / cost.rate, 2.5e-3, 0.3e-3);
  }
  // A device that was slower in whole launches than in packages was slow for other reasons.
  for (int run = 0; run < 3; ++run) set().model().add_whole(8, kCpu, kItems, 9e-3);
  for (int split = 0; split < 100; ++split) {
    const Sample package{kItems / 2.0, 0.5e-3};
    set().model().add_packages(8, kCpu, {&package, 1});
  }
  EXPECT_TRUE(costs.compute(8, kItems, both, found));
  EXPECT_NEAR(found[kCpu].seconds(kItems), 1e-3, 0.1e-3);
}

// Neither is kept of devices that have nobody beside them.
TEST_F(LaunchCostsTest, OnlyNeighboursHaveTimesOfTheirOwnForWholeLaunches) {
  for (int run = 0; run < 3; ++run) set().model().add_whole(kKernel, kGpu, kItems, 1e-3);
  EXPECT_FALSE(set().model().fit(kKernel, kGpu).empty());
  EXPECT_TRUE(set().model().whole_fit(kKernel, kGpu).empty());
}

TEST_F(LaunchCostsTest, AnUnknownDeviceIsComparedWithAKnownOne) {
  measure(kCpu, 4e-3);
  EXPECT_TRUE(costs.compute(kKernel, kItems, both, found));
  EXPECT_FALSE(found[kGpu].measured);
  const double nominal = set().traits(kGpu).nominal_gflops / set().traits(kCpu).nominal_gflops;
  EXPECT_NEAR(found[kGpu].rate / found[kCpu].rate, nominal, 1e-6 * nominal);
}

TEST_F(LaunchCostsTest, OnlyWhatIsNotThereYetMoves) {
  const KernelWork work = kernel(KernelForm::kMap);
  for (const auto& one : {in, out}) one->set_exclusive(kHostPlace, 0, kBytes);
  EXPECT_EQ(costs.whole_transfers(*work.arguments, nullptr, kCpu), 0);
  const double two = costs.whole_transfers(*work.arguments, nullptr, kGpu);
  EXPECT_GT(two, 0);
  in->add_copy(in->place_on(kGpu), 0, kBytes);
  EXPECT_NEAR(costs.whole_transfers(*work.arguments, nullptr, kGpu), two / 2, 1e-9);
  // From the device to the host.
  in->set_exclusive(in->place_on(kGpu), 0, kBytes);
  EXPECT_GT(costs.whole_transfers(*work.arguments, nullptr, kCpu), 0);
}

// As columns of a matrix are, whose rows lie apart.
TEST_F(LaunchCostsTest, NarrowRowsTakeLongerThanTheirBytes) {
  const KernelWork work = kernel(KernelForm::kMap);
  for (const auto& one : {in, out}) one->set_exclusive(kHostPlace, 0, kBytes);
  const Place gpu_place = in->place_on(kGpu);
  out->add_copy(gpu_place, 0, kBytes);
  in->add_copy(gpu_place, 0, kBytes / 2);
  const double half = costs.whole_transfers(*work.arguments, nullptr, kGpu);
  constexpr uint64_t kRow = 64;
  in->set_exclusive(kHostPlace, 0, kBytes);
  for (uint64_t at = 0; at < kBytes; at += 2 * kRow) in->add_copy(gpu_place, at, at + kRow);
  const double rows = costs.whole_transfers(*work.arguments, nullptr, kGpu);
  EXPECT_GT(rows, half);
  // What such a transfer takes says nothing of that of one range.
  for (int run = 0; run < 10; ++run) {
    for (const uint64_t bytes : {1 << 20, 4 << 20}) {
      const uint64_t size = transfer_size(bytes, bytes / kRow);
      EXPECT_GT(size, 10 * bytes);
      set().model().add(kToDevice, kGpu, size, static_cast<double>(size) * 1e-9, "transfers");
    }
  }
  in->set_exclusive(kHostPlace, 0, kBytes);
  const double all = costs.whole_transfers(*work.arguments, nullptr, kGpu);
  EXPECT_NEAR(all - 20e-6, static_cast<double>(kBytes) * 1e-9, 1e-7);
}

TEST_F(LaunchCostsTest, ResultsComeHomeOnlyIfTheApplicationHasReadSuchBefore) {
  const KernelWork work = kernel(KernelForm::kMap);
  EXPECT_EQ(costs.gather(work, kGpu, 1), 0);
  in->note_read(kBytes);  // which the kernel does not write
  EXPECT_EQ(costs.gather(work, kGpu, 1), 0);
  out->note_read(kBytes);
  EXPECT_GT(costs.gather(work, kGpu, 1), costs.gather(work, kGpu, 0.5));
  EXPECT_EQ(costs.gather(work, kCpu, 1), 0);
}

TEST_F(LaunchCostsTest, ResultsReturnOnlyBetweenMemories) {
  const KernelWork work = kernel(KernelForm::kMap);
  EXPECT_EQ(costs.return_transfers(work, kCpu, kCpu), 0);
  EXPECT_GT(costs.return_transfers(work, kGpu, kCpu), 0);
  EXPECT_GT(costs.return_transfers(work, kCpu, kGpu), 0);
}

TEST_F(LaunchCostsTest, OfAKernelThatIsNotUnderstoodAllMayBeWritten) {
  KernelSummary summary = summary_of(KernelForm::kMap);
  EXPECT_FALSE(argument_written(written_arguments(summary), 0));
  EXPECT_TRUE(argument_written(written_arguments(summary), 1));
  summary.whole_reason = "it calls what nobody knows";
  EXPECT_TRUE(argument_written(written_arguments(summary), 0));
  summary.arguments[0].kind = ArgKind::kConstant;
  EXPECT_FALSE(argument_written(written_arguments(summary), 0));
}

TEST_F(LaunchCostsTest, ADeviceOfAnotherHostIsAsFarAsItsLink) {
  const KernelWork work = kernel(KernelForm::kMap);
  for (const auto& one : {in, out}) one->set_exclusive(kHostPlace, 0, kBytes);
  EXPECT_GE(costs.call_seconds(kThere), 20e-3);
  EXPECT_NEAR(costs.whole_transfers(*work.arguments, nullptr, kThere),
              2 * (20e-3 + static_cast<double>(kBytes) / 12.5e6), 1e-6);
  EXPECT_EQ(costs.link_rate(kThere), 12.5e6);
  EXPECT_EQ(costs.link_rate(kGpu), kLinkBytesPerSecond);
  // What was seen to be slower than the link is believed, what was faster is not.
  const auto seen = [&](double seconds) {
    for (int i = 0; i < 100; ++i) set().model().add(kToDevice, kThere, 1 << 20, seconds);
    return costs.whole_transfers(*work.arguments, nullptr, kThere);
  };
  const double fast = seen(1e-4);
  EXPECT_NEAR(fast, 2 * (20e-3 + static_cast<double>(kBytes) / 12.5e6), 1e-6);
  EXPECT_GT(seen(10), fast);
}

}  // namespace
}  // namespace tutti::testing
