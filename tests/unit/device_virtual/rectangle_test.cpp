// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/rectangle.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace tutti::icd::validate {
namespace {

using Region = std::array<size_t, 3>;

TEST(Rectangle, DefaultPitchesComeFromTheRegion) {
  const size_t origin[3] = {1, 2, 3};
  const auto rect = rectangle_of({origin, 0, 0}, Region{4, 5, 6});
  ASSERT_TRUE(rect);
  EXPECT_EQ(rect->row_pitch, 4u);
  EXPECT_EQ(rect->slice_pitch, 20u);
  EXPECT_EQ(rect->origin, (Region{1, 2, 3}));
}

TEST(Rectangle, RejectsPitchesThatDoNotFit) {
  const size_t origin[3] = {0, 0, 0};
  EXPECT_FALSE(rectangle_of({origin, 3, 0}, Region{4, 1, 1}));
  EXPECT_FALSE(rectangle_of({origin, 4, 19}, Region{4, 5, 1}));
  EXPECT_FALSE(rectangle_of({origin, 4, 22}, Region{4, 5, 1}));
  EXPECT_TRUE(rectangle_of({origin, 4, 24}, Region{4, 5, 1}));
  EXPECT_FALSE(rectangle_of({nullptr, 0, 0}, Region{1, 1, 1}));
  const size_t empty[3] = {1, 0, 1};
  EXPECT_FALSE(region_of(empty));
  EXPECT_FALSE(region_of(nullptr));
}

TEST(Rectangle, WithinIsExactAndSafeFromOverflow) {
  const backends::Rect rect{{2, 1, 1}, 10, 100};
  const Region region{3, 2, 2};  // last byte: 2 + 10 + 100 + (3 - 1) + 10 + 100 = 224
  EXPECT_TRUE(within(rect, region, 225));
  EXPECT_FALSE(within(rect, region, 224));
  const size_t huge = std::numeric_limits<size_t>::max();
  EXPECT_FALSE(within({{huge, 0, 0}, 1, 1}, Region{1, 1, 1}, huge));
  EXPECT_FALSE(within({{0, 2, 0}, huge, huge}, Region{1, 1, 1}, huge));
  EXPECT_FALSE(within({{0, 0, 0}, huge / 2, huge}, Region{1, 4, 1}, 1000));
}

std::set<size_t> bytes_of(const backends::Rect& rect, size_t base, const Region& region) {
  std::set<size_t> bytes;
  for (size_t z = 0; z < region[2]; ++z) {
    for (size_t y = 0; y < region[1]; ++y) {
      for (size_t x = 0; x < region[0]; ++x) {
        bytes.insert(base + rect.origin[0] + x + (rect.origin[1] + y) * rect.row_pitch +
                     (rect.origin[2] + z) * rect.slice_pitch);
      }
    }
  }
  return bytes;
}

TEST(Rectangle, OverlapNeverMissesOne) {
  // The specification's method may call close neighbours overlapping, never the other way round;
  // for regions that stay inside their rows and slices it is exact.
  std::mt19937 random(7);
  const auto pick = [&](size_t least, size_t most) {
    return std::uniform_int_distribution<size_t>(least, most)(random);
  };
  int overlapping = 0;
  int apart = 0;
  for (int round = 0; round < 4000; ++round) {
    const Region region{pick(1, 4), pick(1, 3), pick(1, 3)};
    const size_t row = pick(6, 8);
    const size_t slice = row * pick(5, 6);
    const auto place = [&] {
      return backends::Rect{
          {pick(0, row - region[0]), pick(0, slice / row - region[1]), pick(0, 2)}, row, slice};
    };
    const backends::Rect a = place();
    const backends::Rect b = place();
    bool truth = false;
    const auto of_b = bytes_of(b, 0, region);
    for (const size_t byte : bytes_of(a, 0, region)) truth |= of_b.count(byte) != 0;
    EXPECT_EQ(overlap(a, 0, b, 0, region), truth) << "round " << round;
    ++(truth ? overlapping : apart);
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_GT(apart, 100);
}

TEST(Rectangle, OverlapOfWindowsOnOneBuffer) {
  const Region region{4, 2, 1};
  const backends::Rect rect{{0, 0, 0}, 8, 16};
  EXPECT_TRUE(overlap(rect, 0, rect, 0, region));
  EXPECT_FALSE(overlap(rect, 0, rect, 16, region));
  EXPECT_FALSE(overlap(rect, 0, rect, 4, region));  // in the gap of the rows
  EXPECT_TRUE(overlap(rect, 0, rect, 3, region));
}

}  // namespace
}  // namespace tutti::icd::validate
