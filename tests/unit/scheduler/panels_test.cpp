// SPDX-License-Identifier: Apache-2.0
// Panels against the same asked of each byte: where kernels look for it, there it has been packed.
#include "scheduler/plan/panels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "kernel_maker.h"
#include "scheduler/access/panel_argument.h"

namespace tutti::scheduler::test {
namespace {

/// As the kernel computes it, in numbers of 64 bits.
uint64_t place_of(uint64_t at, const PanelShape& shape, uint64_t n = 0) {
  PanelArgument argument(1);
  EXPECT_TRUE(argument.set(0, shape.pitch, shape.width));
  uint64_t numbers[3];
  std::memcpy(numbers, argument.bytes().data(), sizeof numbers);
  at -= shape.before(n);
  const auto row = static_cast<uint64_t>((affine::Wide{at} * numbers[2]) >> 64);
  return row * numbers[1] + (at - row * numbers[0]);
}

RC_GTEST_PROP(Panels, EachByteIsWhereKernelsLookForIt, ()) {
  const auto period = *rc::gen::inRange<int64_t>(300, 5000);
  const auto step = *rc::gen::inRange<int64_t>(1, 90) * (*rc::gen::arbitrary<bool>() ? 1 : -1);
  const auto begin = *rc::gen::inRange<int64_t>(-200, 200);
  const StridedAccesses columns{period, step, begin, begin + *rc::gen::inRange<int64_t>(1, 200)};
  const auto size = *rc::gen::inRange<uint64_t>(1, 40000);
  const auto first = *rc::gen::inRange<uint64_t>(0, 100);
  const auto count = *rc::gen::inRange<uint64_t>(1, 60);
  const auto copies = *rc::gen::inRange<uint64_t>(1, 4);
  const auto shape = panel_of(columns, first, count, size, copies);
  if (!shape) return;
  RC_CLASSIFY(shape->begin < 0);
  RC_ASSERT(copies * shape->bytes() < size);
  RC_ASSERT(shape->bytes() == panel_of(columns, 0, count, size, copies)->bytes());
  const auto n = *rc::gen::inRange<uint64_t>(0, copies);
  std::vector<std::byte> window(size), panel(shape->bytes());
  for (size_t i = 0; i < size; ++i) window[i] = static_cast<std::byte>(i * 7 + i / 251);
  // In blocks, as it is sent.
  const auto block = *rc::gen::inRange<uint64_t>(1, 3000);
  for (uint64_t at = 0; at < panel.size(); at += block) {
    const uint64_t end = std::min<uint64_t>(at + block, panel.size());
    std::vector<std::byte> sent(end - at);
    shape->pack(window.data(), at, end, sent.data());
    std::copy(sent.begin(), sent.end(), panel.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (uint64_t slice = first; slice < first + count; ++slice) {
    for (int64_t k = -2; k <= static_cast<int64_t>(size) / period + 2; ++k) {
      const int64_t row = k * period + step * static_cast<int64_t>(slice);
      for (int64_t at = row + columns.begin; at < row + columns.end; ++at) {
        if (at < 0 || at >= static_cast<int64_t>(size)) continue;
        const uint64_t place = place_of(static_cast<uint64_t>(at), *shape, n) - n * panel.size();
        RC_ASSERT(place < panel.size());
        RC_ASSERT(panel[place] == window[static_cast<size_t>(at)]);
      }
    }
  }
}

TEST(Panels, RowsAreAsAlignedAsElements) {
  // Columns of 16 bytes each, seven of them, in rows of 16 * 101.
  const auto shape = panel_of({1616, 16, 0, 16}, 5, 7, 1616 * 10);
  ASSERT_TRUE(shape);
  for (uint64_t row = 0; row < 10; ++row) {
    for (uint64_t column = 5; column < 12; ++column) {
      EXPECT_EQ(place_of(row * 1616 + column * 16, *shape) % 16, 0u);
    }
  }
}

TEST(Panels, QuotientsOfLargeNumbersAreExact) {
  for (const uint64_t pitch : {uint64_t{4012}, uint64_t{1} << 20, (uint64_t{1} << 24) + 1}) {
    const PanelShape shape{0, pitch, 128, uint64_t{1} << 36, 128, 2};
    for (const uint64_t row : {uint64_t{1}, ((uint64_t{1} << 36) / pitch)}) {
      EXPECT_EQ(place_of(row * pitch - 1, shape), (row - 1) * 128 + pitch - 1);
      EXPECT_EQ(place_of(row * pitch, shape), row * 128);
      EXPECT_EQ(place_of(row * pitch + 1, shape), row * 128 + 1);
    }
  }
}

TEST(Panels, WhatIsNoSmallerHasNone) {
  EXPECT_FALSE(panel_of({}, 0, 1, 1000));
  EXPECT_FALSE(panel_of({256, 64, 0, 64}, 0, 3, 100000));
  EXPECT_FALSE(panel_of({4096, 64, 0, 64}, 0, 64, 100000));
  EXPECT_FALSE(panel_of({4096, 64, 0, 64}, 0, 1, 100));
}

/// C = A · B in groups of 16 by 16; sizes need not divide by that.
KernelMaker product(int64_t n) {
  KernelMaker k;
  const auto a = k.buffer("a", static_cast<uint64_t>(4 * n * n));
  const auto b = k.buffer("b", static_cast<uint64_t>(4 * n * n));
  const auto c = k.buffer("c", static_cast<uint64_t>(4 * n * n));
  const auto size = k.arg(k.scalar("n", n));
  const auto column = k.trunc(k.gid(0)), row = k.trunc(k.gid(1));
  const std::vector<Guard> guards{{Compare::kSLt, column, size}, {Compare::kSLt, row, size}};
  const auto loop = k.add_loop(k.sext(k.plus(size, -1)));
  const auto inner = k.trunc(k.loop(loop));
  const auto at = [&](uint32_t y, uint32_t x) {
    return k.times(k.sext(k.add(k.mul(y, size), x)), 4);
  };
  k.load(a, at(row, inner), 4, guards, {loop});
  k.load(b, at(inner, column), 4, guards, {loop});
  k.store(c, at(row, column), 4, guards);
  return k;
}

TEST(Panels, AProductsColumnsAreKnown) {
  for (const int64_t n : {1003, 1024}) {
    const KernelMaker k = product(n);
    const auto groups = static_cast<uint64_t>(n + 15) / 16 * 16;
    const LaunchAccess access = k.evaluate(launch_2d(groups, groups, 16, 16));
    ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
    ASSERT_EQ(access.verdict().dimension, 1u);
    EXPECT_EQ(access.columns(0, 0).period, 0);
    EXPECT_EQ(access.columns(2, 0).period, 0);
    const StridedAccesses columns = access.columns(1, 0);
    EXPECT_EQ(columns.period, 4 * n);
    EXPECT_EQ(columns.step, 64);
    EXPECT_EQ(columns.begin, 0);
    EXPECT_EQ(columns.end, 64);
  }
}

}  // namespace
}  // namespace tutti::scheduler::test
