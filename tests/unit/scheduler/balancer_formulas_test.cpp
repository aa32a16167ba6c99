// SPDX-License-Identifier: Apache-2.0
// dynamic, hguided, autotune and adaptive by example; the numbers are worked out by hand from the
// formulas of docs/balancers.md.
#include <gtest/gtest.h>

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler::test {
namespace {

std::unique_ptr<Balancer> make(const char* name, uint64_t total,
                               const std::vector<BalancerDevice>& devices) {
  return make_balancer(parse_balancer(name).value(), total, devices);
}

TEST(DynamicBalancer, EqualPackagesWhateverTheSpeed) {
  const auto balancer = make("dynamic:64", 1000, {{1, 1}, {1000, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 16u);  // ⌈1000/64⌉ = ⌈15.6⌉
  EXPECT_EQ(balancer->next_package(1, 984, 0), 16u);
  balancer->finished({0, 16, 0, 100});
  EXPECT_EQ(balancer->next_package(0, 500, 100), 16u);
  EXPECT_EQ(balancer->next_package(0, 15, 100), 15u);
  EXPECT_EQ(balancer->next_package(0, 0, 100), 0u);
  EXPECT_EQ(balancer->next_package(2, 500, 100), 0u);
}

TEST(DynamicBalancer, HasADefaultAndObeysTheSmallestPackage) {
  const auto balancer = make("dynamic", 12800, {{1, 1}, {1, 250}});
  EXPECT_EQ(balancer->next_package(0, 12800, 0), 100u);  // 12800/128
  EXPECT_EQ(balancer->next_package(1, 12700, 0), 250u);
  EXPECT_EQ(balancer->next_package(1, 12, 0), 12u);
}

TEST(DynamicBalancer, GivesNoMorePackagesThanAskedFor) {
  for (const uint64_t total : {1ull, 7ull, 63ull, 64ull, 65ull, 1000ull, 12345ull}) {
    const auto balancer = make("dynamic:64", total, {{1, 1}});
    uint64_t left = total;
    int packages = 0;
    for (; left > 0; ++packages) left -= balancer->next_package(0, left, 0);
    EXPECT_LE(packages, 64) << total;
  }
}

TEST(HguidedBalancer, SharesAFourthOfTheRestBySpeed) {
  const auto balancer = make("hguided", 1000, {{3, 1}, {1, 8}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 187u);  // 1000/(2·2) · 3/4 = 187.5
  EXPECT_EQ(balancer->next_package(1, 813, 0), 50u);    // 813/4 · 1/4 = 50.8
  EXPECT_EQ(balancer->next_package(1, 40, 0), 8u);      // 2.5, but 8 fill the device
  EXPECT_EQ(balancer->next_package(1, 5, 0), 5u);
  EXPECT_EQ(balancer->next_package(0, 0, 0), 0u);
  EXPECT_EQ(balancer->next_package(2, 100, 0), 0u);
}

TEST(HguidedBalancer, TheParameterIsTheDivisor) {
  EXPECT_EQ(make("hguided:4", 1000, {{3, 1}, {1, 1}})->next_package(0, 1000, 0), 93u);  // 93.75
  EXPECT_EQ(make("hguided:0.1", 1000, {{3, 1}, {1, 1}})->next_package(0, 1000, 0), 1000u);
}

TEST(HguidedBalancer, KeepsToTheNominalSpeedsAndHoldsNobodyBack) {
  const auto balancer = make("hguided", 1000, {{3, 1}, {1, 1}});
  balancer->finished({0, 187, 0, 1e6});
  balancer->finished({1, 50, 0, 1e-3});
  EXPECT_EQ(balancer->next_package(1, 813, 1e6), 50u);
  // 1000 slices/s beside 1: the slow one's smallest package takes 20 s, everything else 1.
  EXPECT_EQ(make("hguided", 1000, {{1000, 10}, {1, 20}})->next_package(1, 1000, 0), 20u);
}

TEST(AutotuneBalancer, NominalSpeedsAtFirstThenMeasuredOnes) {
  const auto balancer = make("autotune", 1000, {{3, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 187u);
  EXPECT_EQ(balancer->next_package(1, 813, 0), 50u);
  balancer->finished({1, 50, 0, 10});                    // 5 slices/s
  balancer->finished({0, 187, 0, 187});                  // 1 slice/s
  EXPECT_EQ(balancer->next_package(0, 763, 187), 31u);   // 763/4 · 1/6 = 31.8
  EXPECT_EQ(balancer->next_package(1, 732, 187), 152u);  // 732/4 · 5/6 = 152.5
}

TEST(AutotuneBalancer, TheLastThreePackagesCount) {
  const auto balancer = make("autotune", 1000, {{1, 1}, {1, 1}});
  balancer->finished({0, 10, 0, 100});
  for (int i = 0; i < 3; ++i) balancer->finished({0, 10, 100.0 + i, 101.0 + i});  // 10 slices/s
  balancer->finished({1, 30, 0, 1});                                              // 30 slices/s
  EXPECT_EQ(balancer->next_package(0, 400, 103), 25u);                            // 400/4 · 1/4
}

TEST(AutotuneBalancer, AGpuGetsATwentiethOfTheLaunchAtLeast) {
  // The formula says 100/4 · 1/2 = 12.5.
  const auto next = [](uint64_t min_package, bool gpu) {
    return make("autotune", 1000, {{1, min_package, gpu}, {1, 1}})->next_package(0, 100, 0);
  };
  EXPECT_EQ(next(1, false), 12u);
  EXPECT_EQ(next(1, true), 50u);
  EXPECT_EQ(next(30, true), 60u);  // in whole rounds
  EXPECT_EQ(next(64, true), 64u);
}

TEST(AutotuneBalancer, PackagesAreWholeRounds) {
  const auto balancer = make("autotune", 10000, {{1, 64}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 10000, 0), 1216u);  // 19 rounds of 1250
}

TEST(AutotuneBalancer, ASlowDeviceIsHeldBackAndNotCounted) {
  const auto balancer = make("autotune", 4096, {{928, 32}, {928, 32}, {1, 32}});
  EXPECT_EQ(balancer->next_package(2, 4096, 0), 0u);
  EXPECT_EQ(balancer->next_package(0, 4096, 0), 512u);  // N = 2: 4096/4 · 1/2
}

TEST(AdaptiveBalancer, ProbesGrowThenAllEndTogether) {
  const auto balancer = make("adaptive", 1000, {{1, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 20u);  // 2 % of 1000
  EXPECT_EQ(balancer->next_package(0, 980, 0), 30u);
  EXPECT_EQ(balancer->next_package(1, 950, 0), 20u);
  EXPECT_EQ(balancer->next_package(1, 930, 0), 30u);
  // 10 and 5 slices/s. Only one probe has ended each, so a third one keeps them busy.
  balancer->finished({0, 20, 0, 2});
  EXPECT_EQ(balancer->next_package(0, 900, 2), 45u);
  balancer->finished({1, 20, 0, 4});
  EXPECT_EQ(balancer->next_package(1, 855, 4), 45u);
  // Device 0 is busy until 9.5 s, device 1 until 19 s: 10·(T − 9.5) + 5·(T − 19) = 810 at T = 66.7,
  // of which 10·(66.7 − 9.5) = 571.7 for device 0.
  balancer->finished({0, 30, 2, 5});
  EXPECT_EQ(balancer->next_package(0, 810, 5), 572u);
  balancer->finished({0, 45, 5, 9.5});
  EXPECT_EQ(balancer->next_package(0, 238, 9.5), 0u);
  balancer->finished({1, 30, 4, 10});
  EXPECT_EQ(balancer->next_package(1, 238, 10), 238u);
}

TEST(AdaptiveBalancer, ADeviceThatIsBusyForLongerGetsNothing) {
  const auto balancer = make("adaptive", 1000, {{1, 1}, {1, 1}});
  uint64_t left = 1000;
  for (const uint32_t device : {0u, 0u, 1u, 1u}) left -= balancer->next_package(device, left, 0);
  balancer->finished({0, 20, 0, 2});
  balancer->finished({1, 20, 0, 4});
  balancer->finished({0, 30, 2, 5});
  // Device 1 computes until 10 s; device 0 would have ended the last 40 at 9 s.
  EXPECT_EQ(balancer->next_package(1, 40, 5), 0u);
  EXPECT_EQ(balancer->next_package(0, 40, 5), 40u);
}

TEST(AdaptiveBalancer, TheLastPackageAloneTellsTheSpeed) {
  const auto balancer = make("adaptive", 1000, {{1, 1}, {1, 1}});
  balancer->finished({0, 20, 0, 2});
  balancer->finished({0, 30, 2, 3.5});  // 20 slices/s; both together would be 14.3
  balancer->finished({1, 20, 0, 2});
  balancer->finished({1, 30, 2, 8});  // 5 slices/s
  EXPECT_EQ(balancer->next_package(0, 900, 8), 720u);
  EXPECT_EQ(balancer->next_package(1, 180, 8), 180u);
}

TEST(AdaptiveBalancer, ProbesOnWhileSomebodyIsUnmeasured) {
  const auto balancer = make("adaptive", 1000, {{1, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(1, 1000, 0), 20u);
  balancer->finished({0, 20, 0, 2});
  balancer->finished({0, 20, 2, 4});
  EXPECT_EQ(balancer->next_package(0, 980, 4), 20u);
  EXPECT_EQ(balancer->next_package(0, 960, 4), 30u);
  EXPECT_EQ(balancer->next_package(0, 930, 4), 45u);
}

TEST(AdaptiveBalancer, DoesNotWaitForADeviceThatHasNotBegun) {
  const auto balancer = make("adaptive", 1000, {{1, 1}, {1, 1}});
  balancer->finished({0, 20, 0, 2});
  balancer->finished({0, 20, 2, 4});
  EXPECT_EQ(balancer->next_package(0, 960, 4), 480u);
}

TEST(AdaptiveBalancer, AProbeIsAThirdOfTheFairShareAtMost) {
  const auto balancer = make("adaptive", 1000, {{99, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(1, 1000, 0), 3u);  // of 10, a hundredth of all
  EXPECT_EQ(balancer->next_package(1, 997, 0), 2u);   // 99·T + (T − 3) = 997 at 10: of 7
  EXPECT_EQ(balancer->next_package(0, 995, 0), 20u);
}

TEST(AdaptiveBalancer, LastPackagesAreWholeRoundsUpwards) {
  const auto balancer = make("adaptive", 1000, {{1, 64}, {1, 1}});
  for (const double begin : {0.0, 64.0}) {
    for (const uint32_t device : {0u, 1u}) balancer->finished({device, 64, begin, begin + 64});
  }
  EXPECT_EQ(balancer->next_package(0, 500, 128), 256u);  // 4 rounds for 250
  EXPECT_EQ(balancer->next_package(1, 244, 128), 244u);
}

TEST(AdaptiveBalancer, ASlowDeviceIsHeldBackBeforeItsFirstProbe) {
  const auto balancer = make("adaptive", 4096, {{928, 32}, {928, 32}, {1, 32}});
  EXPECT_EQ(balancer->next_package(2, 4096, 0), 0u);
  EXPECT_EQ(balancer->next_package(0, 4096, 0), 64u);  // 2 % are 81.9, whole rounds
}

TEST(ModelBalancer, OnePackageEachAndASmallTail) {
  const auto balancer = make("model", 1000, {{3, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 742u);  // 99 % of 750
  EXPECT_EQ(balancer->next_package(1, 258, 0), 247u);
  EXPECT_EQ(balancer->next_package(0, 11, 0), 0u);  // not before its first one has ended
  balancer->finished({0, 742, 0, 742.0 / 3});
  EXPECT_GT(balancer->next_package(0, 11, 742.0 / 3), 0u);
}

TEST(ModelBalancer, TheTailIsAsLargeAsTimesDeviate) {
  BalancerDevice irregular{1, 1, false, true, 0.125};  // 2d/(1 + 2d) = 0.2
  EXPECT_EQ(make("model", 1000, {irregular, irregular})->next_package(0, 1000, 0), 400u);
  BalancerDevice wild{1, 1, false, true, 5};
  EXPECT_EQ(make("model", 1000, {wild, wild})->next_package(0, 1000, 0), 150u);
  EXPECT_EQ(make("model:0.5", 1000, {irregular, irregular})->next_package(0, 1000, 0), 250u);
}

TEST(ModelBalancer, NoTailThatWouldNotFillTheDevices) {
  // 1 % is 10 slices of 1000, a round of both 40.
  const auto balancer = make("model", 1000, {{3, 20}, {1, 20}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 750u);
  EXPECT_EQ(balancer->next_package(1, 250, 0), 250u);
}

TEST(ModelBalancer, WhatRunsSideBySideGetsItsTailInTime) {
  const BalancerDevice device{1, 1, true, true, 0.125, true};
  const auto balancer = make("model", 1000, {device, device});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 400u);
  EXPECT_EQ(balancer->next_package(1, 600, 0), 400u);
  EXPECT_EQ(balancer->next_package(0, 200, 0), 50u);
}

/// `worthwhile` slices are worth a package.
BalancerDevice costly(uint64_t worthwhile) {
  BalancerDevice device;
  device.worthwhile = worthwhile;
  return device;
}

TEST(ModelBalancer, NoTailSmallerThanIsWorthAPackage) {
  const auto balancer = make("model:0.2", 1000, {costly(150), costly(150)});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 400u);
  EXPECT_EQ(balancer->next_package(1, 600, 0), 400u);
  balancer->finished({0, 400, 0, 400});
  EXPECT_EQ(balancer->next_package(0, 200, 400), 100u);  // its share; half of that without
}

TEST(ModelBalancer, WithoutHistoryItIsSigmoid) {
  const BalancerDevice unknown{1, 1, false, false, 0};
  const auto sigmoid = make("sigmoid", 1000, {unknown, unknown});
  const auto model = make("model", 1000, {unknown, unknown});
  EXPECT_EQ(model->next_package(0, 1000, 0), sigmoid->next_package(0, 1000, 0));
}

TEST(SigmoidBalancer, ManyDevicesHaveLargerPackagesOfARegularKernel) {
  std::vector<BalancerDevice> devices(8, {1, 1});
  const auto first = [&] { return make("sigmoid", 64000, devices)->next_package(0, 64000, 0); };
  EXPECT_EQ(first(), 999u);  // 64000/(2·√16)/8, less what the sigmoid takes off
  devices[7].irregularity = 0.3;
  EXPECT_EQ(first(), 499u);  // 64000/(2·8)/8
  devices[7].irregularity = 0.1;
  EXPECT_EQ(first(), 999u);
  devices[7].known = false;
  EXPECT_EQ(first(), 499u);
}

TEST(SigmoidBalancer, IrregularityMakesPackagesShrinkEarlierWithTwoDevices) {
  const auto halfway = [](const char* name, size_t count) {
    const auto balancer = make(name, 9000, std::vector<BalancerDevice>(count, {1, 1}));
    for (uint32_t device = 0; device < count; ++device) {
      balancer->finished({device, 100, 0, 100});
      balancer->finished({device, 100, 100, 300});  // half as fast: irregular
    }
    return balancer->next_package(0, 4500, 300);
  };
  EXPECT_EQ(halfway("sigmoid", 2), 714u);  // (1 − e^−1.5)/(1 + e^−1.5) · 9000/4 · 1/2
  EXPECT_EQ(halfway("sigmoid", 3), 404u);  // (1 − e^−2.25)/(1 + e^−2.25) · 9000/6 · 1/3
  EXPECT_EQ(halfway("sigmoid:2:0.5", 3), 317u);
}

TEST(SigmoidBalancer, PackagesAreWorthTheirStart) {
  // By the formula 125 of 1000, then less and less.
  const auto balancer = make("sigmoid", 1000, {costly(200), costly(200)});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 200u);
  EXPECT_EQ(balancer->next_package(1, 800, 0), 200u);
  balancer->finished({0, 200, 0, 200});
  balancer->finished({1, 200, 0, 200});
  EXPECT_EQ(balancer->next_package(0, 600, 200), 300u);  // two of 200 are not in it
  EXPECT_EQ(balancer->next_package(1, 300, 200), 300u);
}

TEST(SigmoidBalancer, NoPackageIsTooSmallToMatter) {
  // After 1000 s at a slice per millisecond, 3000 slices make 0.3 % of the time.
  const auto balancer = make("sigmoid", 2'000'000, {{1000, 1}, {1000, 1}});
  const uint64_t first = balancer->next_package(0, 2'000'000, 0);
  const uint64_t second = balancer->next_package(1, 2'000'000 - first, 0);
  balancer->finished({0, first, 0, static_cast<double>(first) / 1000});
  balancer->finished({1, second, 0, static_cast<double>(second) / 1000});
  EXPECT_EQ(balancer->next_package(0, 4000, 1000), 3000u);  // 2000 is its share
  EXPECT_EQ(balancer->next_package(1, 1000, 1000), 1000u);
}

TEST(ModelBalancer, TheTailIsNotDividedForEver) {
  const auto balancer = make("model:0.01", 2'000'000, {{1000, 1}, {1000, 1}});
  EXPECT_EQ(balancer->next_package(0, 2'000'000, 0), 990'000u);
  EXPECT_EQ(balancer->next_package(1, 1'010'000, 0), 990'000u);
  balancer->finished({0, 990'000, 0, 990});
  balancer->finished({1, 990'000, 0, 990});
  EXPECT_EQ(balancer->next_package(0, 20'000, 990), 5000u);
  EXPECT_EQ(balancer->next_package(1, 15'000, 990), 5000u);
  balancer->finished({0, 5000, 990, 995});
  balancer->finished({1, 5000, 990, 995});
  EXPECT_EQ(balancer->next_package(0, 10'000, 995), 5000u);  // half of that would not matter
}

TEST(SigmoidBalancer, ShortLaunchesHaveOnePackageEach) {
  const auto balancer = make("sigmoid", 1000, {costly(300), costly(300)});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 500u);
  EXPECT_EQ(balancer->next_package(1, 500, 0), 500u);
}

TEST(SigmoidBalancer, ADeviceThatIsNotKnownShowsItsSpeedOnLittle) {
  const BalancerDevice unknown{1, 1, false, false, 0};
  const auto balancer = make("sigmoid", 1000, {unknown, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 20u);
  EXPECT_GT(balancer->next_package(1, 980, 0), 100u);
  balancer->finished({0, 20, 0, 20});
  EXPECT_GT(balancer->next_package(0, 700, 20), 100u);
}

TEST(SigmoidBalancer, ATrimmedPackageIsMeasuredAsItWas) {
  const auto balancer = make("sigmoid", 1000, {{1, 1}, {1, 1}});
  const uint64_t given = balancer->next_package(0, 1000, 0);
  balancer->trimmed(0, given, 10);
  EXPECT_GT(balancer->next_package(1, 990, 0), 0u);
  balancer->finished({0, 10, 0, 10});
  // Nothing is under way on the first any more, so it may take half of the rest at the end.
  EXPECT_GT(balancer->next_package(0, 100, 400), 20u);
}

}  // namespace
}  // namespace tutti::scheduler::test
