// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/common_shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tutti::testing {
namespace {
using namespace scheduler;

using Shares = std::vector<uint64_t>;
constexpr uint32_t kTwo[] = {0, 1};
constexpr uint32_t kThree[] = {0, 1, 2};

/// A launch that fits when it is divided like `fitting`.
CommonShares::Launch launch(uint64_t key, const Shares& fitting, double gain, double moving,
                            std::span<const uint32_t> devices = kTwo) {
  return {key, devices, fitting, 1.0, gain, moving};
}

TEST(CommonShares, OnceAllHaveForegoneWhatMovingAllTakesEachIsDividedAnewOnce) {
  CommonShares shares;
  const Shares half{50, 50}, more{60, 40};
  // Three kernels; 9 seconds to move all their data, and 1.5 seconds lost by each turn.
  int launches = 0;
  Shares anew;
  while (anew.empty() && launches < 100) {
    const uint64_t key = launches++ % 3;
    anew = shares.divide_anew(launch(key, key == 0 ? more : half, 0.5, 3));
  }
  EXPECT_EQ(launches, 18);  // the last was one of kernel 2
  EXPECT_EQ(anew, (Shares{53, 47}));
  for (const uint64_t key : {0u, 1u}) {
    EXPECT_EQ(shares.divide_anew(launch(key, half, 0.5, 3)), (Shares{53, 47}));
  }
  for (const uint64_t key : {2u, 0u, 1u}) {
    EXPECT_EQ(shares.divide_anew(launch(key, half, 0.5, 3)), Shares());
  }
}

TEST(CommonShares, AKernelOfAnotherSizeIsDividedInTheSameParts) {
  CommonShares shares;
  EXPECT_EQ(shares.divide_anew(launch(1, {5, 3}, 0.5, 1)), Shares());
  EXPECT_EQ(shares.divide_anew(launch(2, {500, 300}, 2, 1)), (Shares{500, 300}));
  EXPECT_EQ(shares.divide_anew(launch(1, {5, 3}, 0, 1)), (Shares{5, 3}));
}

TEST(CommonShares, OtherDevicesAreDividedForThemselves) {
  CommonShares shares;
  EXPECT_EQ(shares.divide_anew(launch(1, {5, 3}, 1.5, 2)), Shares());
  EXPECT_EQ(shares.divide_anew(launch(1, {3, 3, 2}, 1.5, 2, kThree)), Shares());
  EXPECT_EQ(shares.divide_anew(launch(1, {5, 3}, 1.5, 2)), (Shares{5, 3}));
}

TEST(CommonShares, WhatCostsNothingIsNotDividedAnew) {
  CommonShares shares;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(shares.divide_anew(launch(1, {5, 3}, -1, 2)), Shares());
  }
}

TEST(CommonShares, EachDeviceHasASliceAndAllSlicesAreGivenOut) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    CommonShares shares;
    const Shares fitting{1 + random() % 1000, 1 + random() % 3, 1 + random() % 50};
    ASSERT_EQ(shares.divide_anew(launch(1, fitting, 0, 1, kThree)), Shares());
    ASSERT_FALSE(shares.divide_anew(launch(2, fitting, 9, 1, kThree)).empty());
    const uint64_t slices = 3 + random() % 9;
    const Shares fewer{1, slices - 2, 1};
    const Shares anew = shares.divide_anew(launch(1, fewer, 0, 1, kThree));
    ASSERT_EQ(anew.size(), 3u);
    ASSERT_EQ(std::accumulate(anew.begin(), anew.end(), uint64_t{0}), slices);
    for (const uint64_t share : anew) ASSERT_GE(share, 1u);
  }
}

}  // namespace
}  // namespace tutti::testing
