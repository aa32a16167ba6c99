// SPDX-License-Identifier: Apache-2.0
// Pointers into shared virtual memory: windows from which a kernel may go back.
#include <gtest/gtest.h>

#include "kernel_maker.h"

namespace tutti::scheduler::test {
namespace {

/// data[gid + shift] = …, of a pointer with so many bytes before it.
LaunchAccess stored(uint64_t before, int64_t shift, bool known = true) {
  KernelMaker k;
  const auto data = k.buffer("data", 8192, 7, before);
  k.store(data, known ? k.plus(k.times(k.gid(0), 4), 4 * shift) : k.unknown());
  auto values = k.values();
  values[data].before = before;
  return LaunchAccess::evaluate(k.summary(), launch_1d(1024, 16), values);
}

TEST(AccessOfSharedMemory, WhatStaysBehindThePointerIsUnderstood) {
  EXPECT_TRUE(stored(4096, 0).exact());
  EXPECT_EQ(stored(4096, 3).verdict().mode, MergeMode::kDisjoint);
}

TEST(AccessOfSharedMemory, WhatMayGoBackIsWhole) {
  for (const LaunchAccess& access : {stored(4096, -1), stored(4096, 0, false)}) {
    EXPECT_FALSE(access.exact());
    EXPECT_EQ(access.verdict().mode, MergeMode::kWhole);
    EXPECT_NE(access.verdict().reason.find("go back"), std::string::npos);
  }
}

TEST(AccessOfSharedMemory, BeforeTheBeginThereIsNothing) {
  EXPECT_TRUE(stored(0, -1).exact());
  EXPECT_EQ(stored(0, -1).verdict().mode, MergeMode::kDisjoint);
}

}  // namespace
}  // namespace tutti::scheduler::test
