// SPDX-License-Identifier: Apache-2.0
// Memory in pages of its own.
#include "base/host_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tutti {
namespace {

TEST(HostPages, AreAlignedTouchedAndZero) {
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{4096}, uint64_t{5000}, (uint64_t{2} << 20) - 1, uint64_t{2} << 20,
        (uint64_t{4} << 20) + 1, (uint64_t{33} << 20) - 5}) {
    SCOPED_TRACE(size);
    const auto pages = HostPages::allocate(size);
    ASSERT_TRUE(pages);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages->data()) % 4096, 0u);
    pages->touch();
    std::byte* const end = pages->data() + size;
    EXPECT_TRUE(std::all_of(pages->data(), end, [](std::byte b) { return b == std::byte{0}; }));
    std::fill(pages->data(), end, std::byte{255});
  }
}

TEST(HostPages, LargeOnesDoNotBeginAtEqualPlacesOfACache) {
  constexpr uint64_t kCacheWay = 128 << 10;
  std::vector<HostPages> all;
  std::set<uintptr_t> places;
  for (int i = 0; i < 32; ++i) {
    auto pages = HostPages::allocate((uint64_t{2} << 20) + i);
    ASSERT_TRUE(pages);
    places.insert(reinterpret_cast<uintptr_t>(pages->data()) % kCacheWay);
    all.push_back(std::move(*pages));
  }
  EXPECT_EQ(places.size(), 32u);
}

TEST(HostPages, TooMuchIsAnError) {
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX / 2}) {
    const auto pages = HostPages::allocate(size);
    ASSERT_FALSE(pages);
    EXPECT_EQ(pages.error().code, CL_OUT_OF_HOST_MEMORY);
  }
}

}  // namespace
}  // namespace tutti
