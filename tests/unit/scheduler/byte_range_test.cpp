// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/byte_range.h"

#include <gtest/gtest.h>

#include <vector>

#include "property.h"
#include "scheduler/access/access_cache.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kBytes = 96;

ByteStrips any_strips() {
  ByteStrips strips;
  strips.range.begin = *rc::gen::inRange<uint64_t>(0, kBytes);
  strips.range.end = *rc::gen::inRange<uint64_t>(0, kBytes);
  if (*rc::gen::inRange(0, 3) == 0) return strips;
  strips.period = *rc::gen::element<uint64_t>(8, 12, 16);
  strips.length = *rc::gen::inRange<uint64_t>(1, strips.period + 1);
  strips.phase = *rc::gen::inRange<int64_t>(-20, 40);
  return strips;
}

std::vector<bool> bytes_of(const ByteStrips& strips) {
  std::vector<bool> bytes(kBytes);
  if (strips.empty()) return bytes;
  strips.for_each([&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) bytes[i] = true;
  });
  return bytes;
}

bool share(const ByteStrips& a, const ByteStrips& b) {
  const auto left = bytes_of(a), right = bytes_of(b);
  for (uint64_t i = 0; i < kBytes; ++i) {
    if (left[i] && right[i]) return true;
  }
  return false;
}

TEST(ByteStrips, WhatIsApartSharesNoByte) {
  test::check_property(5000, [] {
    const ByteStrips a = any_strips(), b = any_strips();
    if (apart(a, b)) RC_ASSERT(!share(a, b));
    RC_ASSERT(apart(a, b) == apart(b, a));
  });
}

TEST(ByteStrips, ColumnsAreApart) {
  const ByteStrips left{{0, 64}, 0, 16, 8}, right{{8, 64}, 8, 16, 8}, wide{{0, 64}, 4, 16, 8};
  EXPECT_TRUE(apart(left, right));
  EXPECT_FALSE(apart(left, wide));
  EXPECT_FALSE(apart(left, {{10, 20}}));
  EXPECT_TRUE(apart({{0, 10}}, {{10, 20}}));
}

TEST(ByteStrips, WhatTwoHaveInCommonIsInBoth) {
  test::check_property(5000, [] {
    const ByteStrips a = any_strips(), b = any_strips();
    std::vector<bool> common(kBytes);
    for_each_common(a, b, [&](const ByteStrips& strips) {
      RC_ASSERT(!strips.strided() || (strips.length > 0 && strips.length <= strips.period));
      const auto bytes = bytes_of(strips);
      for (uint64_t i = 0; i < kBytes; ++i) {
        RC_ASSERT(!(bytes[i] && common[i]));
        if (bytes[i]) common[i] = true;
      }
    });
    const auto left = bytes_of(a), right = bytes_of(b);
    const bool unlike = a.strided() && b.strided() && a.period != b.period;
    for (uint64_t i = 0; i < kBytes; ++i) {
      RC_ASSERT(common[i] == (!unlike && left[i] && right[i]));
    }
  });
}

TEST(AccessCache, KeepsTheLastLaunches) {
  AccessCache cache;
  std::vector<std::shared_ptr<const LaunchAccess>> made;
  for (int i = 0; i < 5; ++i) {
    made.push_back(std::make_shared<LaunchAccess>());
    cache.keep(std::to_string(i), made.back());
  }
  EXPECT_EQ(cache.find("0"), nullptr);
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(cache.find(std::to_string(i)), made[i]);
  EXPECT_EQ(cache.find(""), nullptr);
}

}  // namespace
}  // namespace tutti::scheduler
