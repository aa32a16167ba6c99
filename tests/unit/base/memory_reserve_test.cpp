// SPDX-License-Identifier: Apache-2.0
#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace tutti {
namespace {

struct Taken {
  std::vector<void*> blocks;
  ~Taken() {
    for (void* block : blocks) ::operator delete(block);
  }
  bool take(size_t bytes) {
    void* const block = take_from_reserve(bytes);
    if (block != nullptr) blocks.push_back(block);
    return block != nullptr;
  }
};

TEST(MemoryReserve, IsForThoseThatHaveBegunSomething) {
  ASSERT_TRUE(fill_memory_reserve());
  Taken taken;
  EXPECT_FALSE(taken.take(16));
  {
    const MemoryReserved reserved;
    EXPECT_TRUE(taken.take(16));
    {
      const MemoryReserved inner;
      EXPECT_TRUE(taken.take(16));
    }
    EXPECT_TRUE(taken.take(16));
    std::thread([&] { EXPECT_FALSE(taken.take(16)); }).join();
  }
  EXPECT_FALSE(taken.take(16));
}

TEST(MemoryReserve, GivesWhatItHasAndIsFilledAnew) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(fill_memory_reserve());
    const MemoryReserved reserved;
    Taken taken;
    EXPECT_TRUE(taken.take(16384));
    EXPECT_FALSE(taken.take(16385)) << "large memory is not kept";
    while (taken.take(64) && taken.blocks.size() < 100000) {
    }
    EXPECT_GT(taken.blocks.size(), 400U) << "larger blocks do for small ones";
    EXPECT_LT(taken.blocks.size(), 100000U) << "it has an end";
    EXPECT_FALSE(taken.take(1));
  }
}

TEST(MemoryReserve, BlocksAreAsLargeAsAsked) {
  ASSERT_TRUE(fill_memory_reserve());
  const MemoryReserved reserved;
  for (const size_t bytes : {1U, 64U, 65U, 256U, 257U, 1024U, 1025U, 4096U, 4097U, 16384U}) {
    auto* const block = static_cast<char*>(take_from_reserve(bytes));
    ASSERT_NE(block, nullptr);
    std::fill_n(block, bytes, 'x');  // sanitizers look
    ::operator delete(block);
  }
}

}  // namespace
}  // namespace tutti
