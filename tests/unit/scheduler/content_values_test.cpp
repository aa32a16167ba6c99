// SPDX-License-Identifier: Apache-2.0
// What content says of packages: against the same asked of each number and each work-item.
#include "scheduler/access/content_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "kernel_maker.h"
#include "scheduler/access/access_eval.h"

namespace tutti::scheduler {
namespace {

template <typename Number>
std::span<const std::byte> bytes_of(const std::vector<Number>& numbers) {
  return std::as_bytes(std::span(numbers));
}

template <typename Number>
void compare(uint8_t width, bool is_signed) {
  std::mt19937_64 random(7);
  for (const size_t count : {1, 2, 31, 32, 33, 64, 1000, 4097}) {
    std::vector<Number> numbers(count);
    for (Number& number : numbers) number = static_cast<Number>(random());
    ContentValues values;
    const ContentBounds kind{.width = width, .is_signed = is_signed};
    values.add(3, kind, bytes_of(numbers));
    for (int i = 0; i < 200; ++i) {
      const uint64_t a = random() % count, b = a + 1 + random() % (count - a);
      const auto within = values.within(3, kind, {a * sizeof(Number), b * sizeof(Number)});
      const auto [least, largest] = std::minmax_element(numbers.begin() + static_cast<int64_t>(a),
                                                        numbers.begin() + static_cast<int64_t>(b));
      // No less than that, and no more than there is in 31 numbers on either side.
      EXPECT_LE(within.lo, affine::Wide{*least});
      EXPECT_GE(within.hi, affine::Wide{*largest});
      const auto [lowest, highest] = std::minmax_element(
          numbers.begin() + static_cast<int64_t>(a - std::min<uint64_t>(a, 31)),
          numbers.begin() + static_cast<int64_t>(std::min<uint64_t>(count, b + 31)));
      EXPECT_GE(within.lo, affine::Wide{*lowest});
      EXPECT_LE(within.hi, affine::Wide{*highest});
    }
    const ContentBounds other{.width = width, .is_signed = !is_signed};
    EXPECT_FALSE(values.within(3, other, {0, 4}).bounded());
    EXPECT_FALSE(values.within(2, kind, {0, 4}).bounded());
    EXPECT_TRUE(values.within(3, kind, {8, 8}).empty());
  }
}

TEST(ContentValues, TheLeastAndTheLargest) {
  compare<int32_t>(32, true);
  compare<uint32_t>(32, false);
  compare<int64_t>(64, true);
  compare<uint64_t>(64, false);
}

TEST(ContentValues, AGuessGoesEvenlyThroughWhatIsReached) {
  ContentValues values;
  const ContentBounds kind{.width = 32, .is_signed = true, .scale = 8, .added = 16};
  values.guess(1, kind, 400, 816);  // 100 numbers that reach 100 elements
  const auto half = values.within(1, kind, {200, 204});
  EXPECT_TRUE(half.lo == 50 && half.hi == 51);
  const auto all = values.within(1, kind, {0, 400});
  EXPECT_TRUE(all.lo == 0 && all.hi == 100);
}

/// for (k = row[i]; k < row[i + 1]; ++k) y[i] += value[k], `row` and `y` in these roots.
struct Rows {
  Rows(uint64_t items, uint64_t elements, uint64_t row_root, uint64_t y_root) {
    const uint32_t row = maker.buffer("row", 4 * (items + 1), row_root);
    value = maker.buffer("value", 4 * elements);
    const uint32_t y = maker.buffer("y", 4 * items, y_root, row_root == y_root ? 8 * items : 0);
    const auto i = maker.times(maker.gid(0), 4);
    maker.load(row, i);
    maker.load(row, maker.plus(i, 4));
    const uint32_t k = maker.add_loop(std::nullopt, false);
    maker
        .load(value, maker.times(maker.add(maker.sext(maker.unknown(32)), maker.loop(k)), 4), 4, {},
              {k})
        .content = ContentBounds{.first = 0, .end = 1, .width = 32, .is_signed = true, .scale = 4};
    maker.store(y, i);
  }
  test::KernelMaker maker;
  uint32_t value = 0;
};

TEST(ContentValues, BoundWhatPackagesRead) {
  constexpr uint64_t kItems = 1000, kLocal = 8;
  std::mt19937 random(11);
  std::vector<int32_t> row(kItems + 1);
  for (size_t i = 1; i < row.size(); ++i) {
    row[i] = row[i - 1] + static_cast<int32_t>(random() % 30);
  }
  for (const bool in_order : {true, false}) {
    // Some rows end before they begin, and read nothing.
    if (!in_order) std::swap(row[300], row[310]);
    const auto elements = static_cast<uint64_t>(row.back());
    Rows rows(kItems, elements, 0, 0);
    const auto plain = rows.maker.evaluate(test::launch_1d(kItems, kLocal));
    ASSERT_EQ(plain.bounded_by_content(), std::vector<uint32_t>{2});
    auto values = std::make_shared<ContentValues>();
    const ContentBounds kind = *rows.maker.summary().accesses[2].content;
    values->add(0, kind, bytes_of(row));
    const auto bounded = plain.with_content(values);
    for (int trial = 0; trial < 300; ++trial) {
      const uint64_t groups = kItems / kLocal;
      const uint64_t first = random() % groups, count = 1 + random() % (groups - first);
      uint64_t begin = UINT64_MAX, end = 0;
      for (uint64_t i = first * kLocal; i < (first + count) * kLocal; ++i) {
        if (row[i] >= row[i + 1]) continue;
        begin = std::min<uint64_t>(begin, 4 * static_cast<uint64_t>(row[i]));
        end = std::max<uint64_t>(end, 4 * static_cast<uint64_t>(row[i + 1]));
      }
      const auto read_by = [&](const LaunchAccess& access) {
        return ByteRange(test::use_of(access.package(0, first, count), rows.value).read.range);
      };
      EXPECT_TRUE(read_by(plain) == (ByteRange{0, 4 * elements}));
      const ByteRange read = read_by(bounded);
      EXPECT_TRUE(end <= begin || (read.begin <= begin && read.end >= end));
      EXPECT_LE(read.end - read.begin, 4 * 30 * (count * kLocal + 2 * 32 + 11));
      EXPECT_TRUE(bounded.whole() == plain.whole());
    }
  }
}

TEST(ContentValues, SayNothingOfWhatTheLaunchChanges) {
  const Rows rows(1000, 5000, 77, 77);
  EXPECT_TRUE(rows.maker.evaluate(test::launch_1d(1000, 8)).bounded_by_content().empty());
}

}  // namespace
}  // namespace tutti::scheduler
