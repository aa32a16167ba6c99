// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/pricing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "property.h"
#include "scheduler/balance/regions.h"
#include "scheduler/plan/boundaries.h"

namespace tutti::scheduler {
namespace {

uint64_t sum(const std::vector<uint64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), uint64_t{0});
}

TEST(Pricing, SharesFollowSpeed) {
  const DeviceCost devices[] = {{0, 1e-3, 1}, {0, 3e-3, 1}};
  const SplitPrice price = price_split(devices, 1000);
  EXPECT_NEAR(static_cast<double>(price.shares[0]), 750, 1);
  EXPECT_EQ(sum(price.shares), 1000u);
  EXPECT_NEAR(price.seconds, 0.75, 0.002);
}

TEST(Pricing, FixedCostsDelay) {
  // 0.4 s late: (t)/1e-3 + (t - 0.4)/1e-3 = 1000
  const DeviceCost devices[] = {{0, 1e-3, 1}, {0.4, 1e-3, 1}};
  const SplitPrice price = price_split(devices, 1000);
  EXPECT_NEAR(static_cast<double>(price.shares[0]), 700, 1);
}

TEST(Pricing, WhoCannotHelpIsLeftOut) {
  const DeviceCost late[] = {{0, 1e-3, 1}, {2, 1e-3, 1}};
  EXPECT_EQ(price_split(late, 1000).shares[1], 0u);
  const DeviceCost coarse[] = {{0, 1e-3, 1}, {0, 1e-3, 1200}};
  EXPECT_EQ(price_split(coarse, 1000).shares[1], 0u);
  const DeviceCost slow[] = {{0, 1e-3, 1}, {0, 10, 1}};
  EXPECT_EQ(price_split(slow, 1000).shares[1], 0u);
}

TEST(Pricing, WhoIsNotFilledMayHelpAllTheSame) {
  // 0.6 s instead of 1 s.
  const DeviceCost coarse[] = {{0, 1e-3, 1}, {0, 1e-3, 600}};
  EXPECT_GT(price_split(coarse, 1000).shares[1], 0u);
  EXPECT_NEAR(price_split(coarse, 1000).seconds, 0.6, 1e-9);
  // Four devices, none of which is filled by a quarter: three would take longer.
  const std::vector<DeviceCost> equal(4, DeviceCost{0, 1e-3, 1056});
  const SplitPrice price = price_split(equal, 3907);
  for (const uint64_t share : price.shares) EXPECT_GE(share, 976u);
  EXPECT_NEAR(price.seconds, 1.056, 1e-9);
  // Of a launch that one device does in one package, the others only have to be woken.
  EXPECT_EQ(price_split(equal, 1000).shares, (std::vector<uint64_t>{1000, 0, 0, 0}));
}

TEST(Pricing, MarginalDevicesAreLeftOut) {
  const auto shares = [](std::vector<DeviceCost> devices, double worth) {
    SplitPrice price = price_split(devices, 100000);
    leave_out_marginal(devices, 100000, worth, price);
    EXPECT_EQ(sum(price.shares), 100000u);
    EXPECT_NEAR(price.seconds, price_shares(devices, price.shares), 1e-9);
    return price.shares;
  };
  const DeviceCost fast{0, 1e-3, 1}, slow{0, 50e-3, 1}, helpful{0, 8e-3, 1};
  EXPECT_EQ(shares({fast, slow, fast}, 0.97)[1], 0u);
  EXPECT_GT(shares({fast, helpful, fast}, 0.97)[1], 0u);
  EXPECT_EQ(shares({fast, {0, 15e-3, 1}, fast}, 0.9)[1], 0u);
  EXPECT_EQ(shares({fast, slow}, 0.97)[1], 0u);
  EXPECT_GT(shares({fast, {0, 15e-3, 1}}, 0.97)[1], 0u);
  EXPECT_EQ(shares({fast, slow, slow, slow, fast}, 0.97),
            shares({fast, {9, 1, 1}, {9, 1, 1}, {9, 1, 1}, fast}, 0.97));
  // Of many equal ones each helps little, and none is left out.
  for (const uint64_t share : shares(std::vector<DeviceCost>(64, fast), 0.97)) EXPECT_GT(share, 0u);
}

TEST(Pricing, SomebodyAlwaysDoesTheWork) {
  const DeviceCost coarse[] = {{0, 1e-3, 5000}, {0, 2e-3, 5000}};
  const SplitPrice price = price_split(coarse, 1000);
  EXPECT_EQ(price.shares, (std::vector<uint64_t>{1000, 0}));
}

TEST(Pricing, NoOtherSharesAreMuchBetter) {
  test::check_property(300, [] {
    const auto slices = *rc::gen::inRange<uint64_t>(1, 60);
    std::vector<DeviceCost> devices;
    for (int i = 0; i < 2; ++i) {
      DeviceCost device;
      device.fixed = *rc::gen::inRange(0, 40);
      device.per_slice = *rc::gen::inRange(1, 20);
      devices.push_back(device);
    }
    const SplitPrice price = price_split(devices, slices);
    RC_ASSERT(sum(price.shares) == slices);
    RC_ASSERT(price.seconds == price_shares(devices, price.shares));
    double best = 1e300;
    for (uint64_t first = 0; first <= slices; ++first) {
      const uint64_t shares[] = {first, slices - first};
      best = std::min(best, price_shares(devices, shares));
    }
    // Rounding: one slice.
    RC_ASSERT(price.seconds <= best + std::max(devices[0].per_slice, devices[1].per_slice) + 1e-9);
  });
}

TEST(Boundaries, RememberWhereSharesMetAndWhatThatCost) {
  Boundaries known;
  const std::vector<uint32_t> devices = {0, 2};
  const std::vector<uint32_t> others = {0, 1};
  EXPECT_TRUE(known.shares(7, 100, devices).empty());
  EXPECT_EQ(known.surplus(7, 100, devices), std::nullopt);
  known.remember(7, 100, devices, {60, 40}, 9);
  EXPECT_EQ(known.surplus(7, 100, devices), std::nullopt);  // one may be an accident
  EXPECT_FALSE(known.settled(7, 100));
  known.remember(7, 100, devices, {61, 39}, 0.25);
  EXPECT_EQ(known.surplus(7, 100, devices), 0.25);
  EXPECT_EQ(known.surplus(7, 100, others), std::nullopt);
  known.remember(7, 100, devices, {61, 39}, std::nullopt);
  EXPECT_EQ(known.surplus(7, 100, devices), 0.25);
  EXPECT_TRUE(known.settled(7, 100));
  EXPECT_EQ(known.shares(7, 100, devices), (std::vector<uint64_t>{61, 39}));
  EXPECT_TRUE(known.shares(7, 100, others).empty());
  EXPECT_TRUE(known.shares(7, 101, devices).empty());
  EXPECT_TRUE(known.shares(8, 100, devices).empty());
}

TEST(Boundaries, WholeLaunchesBesideSplits) {
  Boundaries known;
  known.remember_whole(7, 100, 1, 3);
  EXPECT_EQ(known.whole(7, 100, 1), 0);  // never split: the model knows
  const uint32_t devices[] = {0, 1};
  known.remember(7, 100, devices, {60, 40}, 0);
  known.remember_whole(7, 100, 1, 3);
  EXPECT_EQ(known.whole(7, 100, 1), 3);
  EXPECT_EQ(known.whole(7, 100, 0), 0);
  known.remember_whole(7, 100, 1, 5);
  EXPECT_EQ(known.whole(7, 100, 1), 3);  // one may be an accident
  known.remember_whole(7, 100, 1, 4);
  EXPECT_EQ(known.whole(7, 100, 1), 4);
}

TEST(Boundaries, AWholeLaunchIsComparedAgainWhenThatCostsLittle) {
  Boundaries known;
  const auto splits_until_compared = [&](double loss) {
    int splits = 1;
    while (!known.compare_again(7, 100, 1, 1.0, loss)) ++splits;
    return splits;
  };
  for (const int splits : {8, 16, 32, 64}) EXPECT_EQ(splits_until_compared(0.4), splits);
  const uint32_t devices[] = {0, 1};
  known.remember(7, 100, devices, {60, 40}, 0);
  for (int i = 0; i < 100; ++i) known.compare_again(7, 100, 1, 1.0, 0.4);
  known.remember_whole(7, 100, 1, 1.4);  // somebody else's will do as well
  EXPECT_EQ(splits_until_compared(0.4), 128);
}

TEST(Boundaries, ARejectedSplitIsTriedAgainWhenItCostsNextToNothing) {
  Boundaries known;
  int tried = 0;
  for (int i = 0; i < 1000; ++i) tried += known.try_again(7, 100, 1.0, 1.5, 1.5);
  EXPECT_EQ(tried, 1000 / 150);
}

TEST(Boundaries, WhatARejectedSplitMayLoseCountsTwiceAsMuchAfterEachAttempt) {
  Boundaries known;
  const auto launches_until_tried = [&] {
    int launches = 1;
    while (!known.try_again(7, 100, 1.0, 1.5, 0.2)) ++launches;
    return launches;
  };
  for (const int launches : {20, 40, 80, 150, 150}) EXPECT_EQ(launches_until_tried(), launches);
  const uint32_t devices[] = {0, 1};
  known.remember(7, 100, devices, {60, 40}, 1);  // it was no better
  EXPECT_EQ(launches_until_tried(), 150);
  known.pays(7, 100);
  EXPECT_EQ(launches_until_tried(), 20);
}

TEST(Boundaries, ASplitThatMayHaveBeenDearByAccidentIsTriedSooner) {
  Boundaries known;
  const auto launches_until_tried = [&](double gain) {
    int launches = 1;
    while (!known.try_again(7, 100, 1.0, 1.5, 0.2, gain)) ++launches;
    return launches;
  };
  for (const int launches : {4, 8, 16, 32}) EXPECT_EQ(launches_until_tried(0.4), launches);
  known.pays(7, 100);
  EXPECT_EQ(launches_until_tried(0.125), 7);  // four times the loss may have been missed
  known.pays(7, 100);
  EXPECT_EQ(launches_until_tried(0), 20);
}

TEST(Boundaries, DevicesThatWereLeftOutAreTriedAgainToo) {
  Boundaries known;
  const std::vector<uint32_t> devices = {0, 1, 2};
  known.remember(7, 100, devices, {30, 30, 40}, 1);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    tried += known.try_again(7, 100, devices, 1.0, 1.5);
    EXPECT_FALSE(known.try_again(7, 100, {0, 1, 3}, 0.001, 1.5));
  }
  EXPECT_EQ(tried, 1000 / 150);
}

TEST(Boundaries, ADeviceIsLeftOnceThatWouldHavePaid) {
  Boundaries known;
  const auto launches_until_left = [&] {
    int launches = 1;
    while (!known.worth_leaving(7, 100, 1, 10)) ++launches;
    return launches;
  };
  for (const int launches : {10, 20, 40}) EXPECT_EQ(launches_until_left(), launches);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(known.worth_leaving(7, 200, -1, 10));
}

TEST(Boundaries, WhatAnAttemptWouldLoseIsSeldomFoundOut) {
  Boundaries known;
  const std::vector<uint32_t> devices = {0, 1};
  int looked = 0, tried = 0, first = 0;
  for (int i = 1; i <= 2000; ++i) {
    if (known.leave_out(7, 100, devices, 1.0, 0.1)) continue;
    if (first == 0) first = i;
    ++looked;
    tried += known.try_left_out(7, 100, devices, 1.0, 4.0);
  }
  EXPECT_EQ(first, 10);   // a hundredth of that is the least that it loses
  EXPECT_LE(looked, 60);  // not at each launch
  EXPECT_GE(tried, 2);    // after some 400 and 800 more
  EXPECT_LE(tried, 3);
}

TEST(Boundaries, DataMoveOnceThatWouldHavePaid) {
  Boundaries known;
  const auto launches_until_move = [&] {
    int launches = 1;
    while (!known.worth_moving(7, 100, 4, 10)) ++launches;
    return launches;
  };
  EXPECT_EQ(launches_until_move(), 3);
  // They were not there the next time: the moves were in vain, and become rare.
  EXPECT_EQ(launches_until_move(), 5);
  EXPECT_EQ(launches_until_move(), 10);
  EXPECT_EQ(launches_until_move(), 20);
  known.move_paid(7, 100);
  EXPECT_EQ(launches_until_move(), 3);
}

TEST(Regions, EverySliceIsGivenOnce) {
  test::check_property(300, [] {
    const auto participants = *rc::gen::inRange<size_t>(1, 6);
    std::vector<uint64_t> shares;
    for (size_t i = 0; i < participants; ++i) shares.push_back(*rc::gen::inRange<uint64_t>(0, 30));
    uint64_t slices = sum(shares);
    if (*rc::gen::arbitrary<bool>()) shares.clear();
    Regions regions(slices, shares, participants);
    std::vector<int> given(slices);
    while (regions.remaining() > 0) {
      const uint64_t before = regions.remaining();
      const SliceRange range = regions.take(*rc::gen::inRange<size_t>(0, participants),
                                            *rc::gen::inRange<uint64_t>(1, 12));
      RC_ASSERT(range.count > 0u);
      RC_ASSERT(regions.remaining() == before - range.count);
      for (uint64_t i = range.first; i < range.first + range.count; ++i) ++given.at(i);
    }
    RC_ASSERT(std::all_of(given.begin(), given.end(), [](int n) { return n == 1; }));
  });
}

TEST(Regions, ASmallRestGoesWithThePackageBefore) {
  Regions regions(100, {50, 50}, 2);
  EXPECT_EQ(regions.take(0, 44, 5).count, 44u);  // six would be left
  EXPECT_EQ(regions.take(0, 3, 3).count, 6u);
  EXPECT_EQ(regions.take(1, 45, 5).count, 50u);
  EXPECT_EQ(regions.remaining(), 0u);
}

TEST(Regions, WhatIsGivenBackIsGivenAgain) {
  Regions regions(100, {50, 50}, 2);
  const SliceRange lost = regions.take(1, 30);
  regions.give_back(lost);
  EXPECT_EQ(regions.remaining(), 100u);
  const SliceRange first = regions.take(0, 20);  // a part of it
  EXPECT_EQ(first.first, lost.first);
  EXPECT_EQ(first.count, 20u);
  EXPECT_EQ(regions.take(0, 20).count, 10u);
  EXPECT_EQ(regions.take(0, 20).first, 0u);
}

TEST(Regions, SmallRestsMayBeLeftToTheirOwners) {
  Regions regions(100, {50, 50}, 2);
  EXPECT_TRUE(regions.has_for(0, 10));
  regions.take(0, 50);
  EXPECT_TRUE(regions.has_for(0, 10));
  regions.take(1, 45);
  EXPECT_FALSE(regions.has_for(0, 10));
  EXPECT_TRUE(regions.has_for(0, 5));
  EXPECT_TRUE(regions.has_for(1, 10));
  regions.take(1, 5);
  EXPECT_FALSE(regions.has_for(1, 0));
}

TEST(Regions, NobodyGetsWhatIsOutOfReach) {
  rc::check("each slice once, to who reaches it", [] {
    const auto participants = *rc::gen::inRange<size_t>(1, 6);
    std::vector<uint64_t> shares;
    for (size_t i = 0; i < participants; ++i) shares.push_back(*rc::gen::inRange<uint64_t>(0, 30));
    const uint64_t slices = sum(shares);
    std::vector<SliceRange> reaches;
    uint64_t begin = 0;
    for (const uint64_t share : shares) {
      const uint64_t more = *rc::gen::inRange<uint64_t>(0, 20);
      const uint64_t first = begin - std::min(begin, more);
      reaches.push_back({first, std::min(slices, begin + share + more) - first});
      begin += share;
    }
    Regions regions(slices, shares, participants, reaches);
    std::vector<int> given(slices);
    size_t refused = 0;
    while (regions.remaining() > 0) {
      const auto who = *rc::gen::inRange<size_t>(0, participants);
      const bool has = regions.has_for(who, 1);
      const SliceRange range = regions.take(who, *rc::gen::inRange<uint64_t>(1, 12));
      RC_ASSERT(has == (range.count > 0));
      RC_ASSERT(reaches[who].holds(range));
      if (range.count == 0 && ++refused > 1000) break;
      if (range.count > 1 && *rc::gen::inRange(0, 8) == 0) {
        regions.give_back(range);
        continue;
      }
      for (uint64_t i = range.first; i < range.end(); ++i) ++given.at(i);
    }
    for (size_t i = 0; i < participants; ++i) {
      while (regions.has_for(i, 1)) {
        const SliceRange range = regions.take(i, slices);
        for (uint64_t k = range.first; k < range.end(); ++k) ++given.at(k);
      }
    }
    RC_ASSERT(regions.remaining() == 0u);
    RC_ASSERT(std::all_of(given.begin(), given.end(), [](int n) { return n == 1; }));
  });
}

TEST(Regions, SayWhoseTheyAre) {
  Regions regions(100, {10, 50, 40}, 3);
  EXPECT_EQ(regions.owner(0), 0u);
  regions.take(0, 10);
  EXPECT_EQ(regions.owner(0), 1u);
  regions.give_back({0, 5});
  EXPECT_EQ(regions.owner(0), 0u);
  regions.take(0, 5);
  regions.take(1, 30);
  EXPECT_EQ(regions.owner(0), 2u);
  regions.take(2, 40);
  regions.take(1, 20);
  EXPECT_EQ(regions.owner(0), 0u);
  EXPECT_EQ(Regions(100, {}, 3).owner(2), 2u);  // one for all
}

TEST(Regions, TwoDevicesMeetInOnePlace) {
  Regions regions(100, {60, 40}, 2);
  std::vector<int> owner(100);
  // The second is faster than was thought.
  for (int round = 0; regions.remaining() > 0; ++round) {
    const size_t device = round % 4 == 0 ? 0 : 1;
    const SliceRange range = regions.take(device, 7);
    for (uint64_t i = range.first; i < range.first + range.count; ++i) {
      owner[i] = static_cast<int>(device);
    }
  }
  EXPECT_TRUE(std::is_sorted(owner.begin(), owner.end()));
  EXPECT_EQ(owner.front(), 0);
  EXPECT_EQ(owner.back(), 1);
}

}  // namespace
}  // namespace tutti::scheduler
