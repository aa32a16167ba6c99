// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel_maker.h"

namespace tutti::scheduler::test {
namespace {

TEST(AccessEval, SimpleStoreIsDisjointAndOverwrites) {
  KernelMaker k;
  const auto in = k.buffer("in", 4096);
  const auto out = k.buffer("out", 4096);
  k.load(in, k.times(k.gid(0), 4));
  k.store(out, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 0u);
  EXPECT_EQ(access.verdict().reason, "writes of argument 'out' are 64 bytes apart per slice");
  const auto uses = access.package(0, 3, 2);
  EXPECT_EQ(use_of(uses, in).read.range, (ByteRange{192, 320}));
  EXPECT_TRUE(use_of(uses, in).write.empty());
  EXPECT_EQ(use_of(uses, out).write.range, (ByteRange{192, 320}));
  EXPECT_TRUE(use_of(uses, out).overwrites);
  EXPECT_EQ(use_of(access.whole(), out).write.range, (ByteRange{0, 4096}));
}

TEST(AccessEval, IntIndexWithGuardAsClangSeesIt) {
  // int i = get_global_id(0); if (i < n) out[i] = …
  KernelMaker k;
  const auto out = k.buffer("out", 4000);
  const auto n = k.scalar("n", 1000);
  const auto i = k.trunc(k.gid(0));
  k.store(out, k.times(k.sext(i), 4), 4, {{Compare::kSLt, i, k.arg(n)}});
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  const auto last = use_of(access.package(0, 15, 1), out);
  EXPECT_EQ(last.write.range, (ByteRange{3840, 4000}));
  EXPECT_TRUE(last.overwrites);
}

TEST(AccessEval, StencilGuardFoldedIntoOneUnsignedComparison) {
  // if (i > 0 && i < n - 1) out[i] = in[i-1] + in[i+1], which LLVM makes (i − 1) <u (n − 2)
  KernelMaker k;
  const auto in = k.buffer("in", 4096);
  const auto out = k.buffer("out", 4096);
  const auto n = k.scalar("n", 1024);
  const auto i = k.trunc(k.gid(0));
  const std::vector<Guard> guards{{Compare::kULt, k.plus(i, -1), k.plus(k.arg(n), -2)}};
  k.store(out, k.times(k.sext(i), 4), 4, guards);
  k.load(in, k.times(k.zext(k.plus(i, -1)), 4), 4, guards);
  k.load(in, k.times(k.sext(k.plus(i, 1)), 4), 4, guards);
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  const auto first = access.package(0, 0, 1);
  EXPECT_EQ(use_of(first, out).write.range, (ByteRange{4, 256}));
  EXPECT_TRUE(use_of(first, out).overwrites);
  EXPECT_EQ(use_of(first, in).read.range, (ByteRange{0, 260}));
  EXPECT_EQ(use_of(access.package(0, 4, 1), in).read.range, (ByteRange{1020, 1284}));
}

TEST(AccessEval, RowsOfA2dImageSplitAlongTheOuterDimension) {
  // if (x < w && y < h) out[y*w + x] = …, with sizes rounded up
  KernelMaker k;
  const auto out = k.buffer("out", 100 * 90 * 4);
  const auto w = k.scalar("w", 100);
  const auto h = k.scalar("h", 90);
  const auto x = k.trunc(k.gid(0));
  const auto y = k.trunc(k.gid(1));
  k.store(out, k.times(k.sext(k.add(k.mul(y, k.arg(w)), x)), 4), 4,
          {{Compare::kSLt, x, k.arg(w)}, {Compare::kSLt, y, k.arg(h)}});
  const auto access = k.evaluate(launch_2d(112, 96, 16, 8));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 1u);
  EXPECT_EQ(use_of(access.package(1, 2, 1), out),
            (ArgumentUse{out, {}, {16 * 400, 24 * 400}, true}));
  EXPECT_EQ(use_of(access.package(1, 11, 1), out),
            (ArgumentUse{out, {}, {88 * 400, 90 * 400}, true}));
  // Without the guard on x the rows meet.
  k.summary().accesses[0].guards.erase(k.summary().accesses[0].guards.begin());
  EXPECT_EQ(k.evaluate(launch_2d(112, 96, 16, 8)).verdict().mode, MergeMode::kDiff);
}

TEST(AccessEval, GemmReadsAllOfBButOnlyItsRowsOfA) {
  KernelMaker k;
  const auto a = k.buffer("a", 64 * 64 * 4);
  const auto b = k.buffer("b", 64 * 64 * 4);
  const auto c = k.buffer("c", 64 * 64 * 4);
  const auto n = k.scalar("n", 64);
  const auto size = k.sext(k.arg(n));
  const auto inner = k.add_loop(k.plus(size, -1));
  const auto row = k.mul(k.gid(1), size);
  k.load(a, k.times(k.add(row, k.loop(inner)), 4), 4, {}, {inner});
  k.load(b, k.times(k.add(k.mul(k.loop(inner), size), k.gid(0)), 4), 4, {}, {inner});
  k.store(c, k.times(k.add(row, k.gid(0)), 4));
  const auto access = k.evaluate(launch_2d(64, 64, 8, 8));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 1u);
  const auto uses = access.package(1, 1, 2);
  EXPECT_EQ(use_of(uses, a).read.range, (ByteRange{8 * 256, 24 * 256}));
  EXPECT_EQ(use_of(uses, b).read.range, (ByteRange{0, 64 * 256}));
  EXPECT_EQ(use_of(uses, c), (ArgumentUse{c, {}, {8 * 256, 24 * 256}, true}));
}

TEST(AccessEval, TransposedStoreSplitsAlongTheInnerDimension) {
  KernelMaker k;
  const auto in = k.buffer("in", 64 * 32 * 4);
  const auto out = k.buffer("out", 64 * 32 * 4);
  k.load(in, k.times(k.add(k.times(k.gid(1), 64), k.gid(0)), 4));
  k.store(out, k.times(k.add(k.times(k.gid(0), 32), k.gid(1)), 4));
  const auto access = k.evaluate(launch_2d(64, 32, 4, 4));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 0u);
}

TEST(AccessEval, OneResultPerGroup) {
  // if (lid == 0) out[group] = …; group*L + lid is gid
  KernelMaker k;
  const auto in = k.buffer("in", 4096);
  const auto out = k.buffer("out", 64);
  k.load(in, k.times(k.add(k.mul(k.group(0), k.local_size(0)), k.lid(0)), 4));
  k.store(out, k.times(k.group(0), 4), 4, {{Compare::kEq, k.trunc(k.lid(0)), k.c(0, 32)}});
  const auto access = k.evaluate(launch_1d(1024, 64));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  const auto uses = access.package(0, 4, 4);
  EXPECT_EQ(use_of(uses, out), (ArgumentUse{out, {}, {16, 32}, true}));
  EXPECT_EQ(use_of(uses, in).read.range, (ByteRange{1024, 2048}));
}

TEST(AccessEval, RowPerGroupWithAStridedLoop) {
  // for (j = lid; j < cols; j += L) out[group*cols + j] = …: last = (cols − 1 − lid) / L
  KernelMaker k;
  const auto out = k.buffer("out", 16 * 100 * 4);
  const auto j = k.add(k.lid(0), k.times(k.loop(0), 32));
  const auto last = k.op(ExprKind::kUDiv, k.sub(k.c(99), k.lid(0)), k.c(32));
  const auto loop = k.add_loop(last);
  k.store(out, k.times(k.add(k.times(k.group(0), 100), j), 4), 4, {}, {loop});
  const auto access = k.evaluate(launch_1d(16 * 32, 32));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
  EXPECT_EQ(use_of(access.package(0, 2, 3), out).write.range, (ByteRange{800, 2000}));
}

TEST(AccessEval, IndirectReadsStaySplittable) {
  KernelMaker k;
  const auto x = k.buffer("x", 512);
  const auto y = k.buffer("y", 4096);
  const auto inner = k.add_loop(std::nullopt, false);
  k.load(x, k.times(k.sext(k.unknown(32)), 4), 4, {}, {inner});
  k.store(y, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(use_of(access.package(0, 3, 1), x).read.range, (ByteRange{0, 512}));
}

/// for (y) data[y * 512 + x] = f(data[y * 512 + x - 1], data[y * 512 + x]), x = gid + 1.
KernelMaker column_kernel(uint32_t& data) {
  KernelMaker k;
  data = k.buffer("data", 512 * 2048);
  const auto loop = k.add_loop(k.c(511), true);
  const auto at = k.add(k.times(k.gid(0), 4), k.times(k.loop(0), 2048));
  k.load(data, at, 4, {}, {loop});
  k.load(data, k.add(at, k.c(4)), 4, {}, {loop});
  k.store(data, k.add(at, k.c(4)), 4, {}, {loop});
  return k;
}

TEST(AccessEval, ColumnsAreReadInStrips) {
  uint32_t data = 0;
  const KernelMaker k = column_kernel(data);
  const auto access = k.evaluate(launch_1d(448, 64));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  // Of each row what the groups read, which meets what their neighbours read.
  const ArgumentUse use = use_of(access.package(0, 2, 3), data);
  EXPECT_EQ(use.read, (ByteStrips{{512, 511 * 2048 + 1284}, 512, 2048, 772}));
  EXPECT_EQ(use.write, (ByteStrips{{516, 511 * 2048 + 1284}, 516, 2048, 768}));
  EXPECT_EQ(use.bytes_read(), 512u * 772);
  EXPECT_EQ(use.read_parts()[0], use.read);
  // What is left out of each row is too little to be left out.
  const ArgumentUse most = use_of(access.package(0, 0, 7), data);
  EXPECT_EQ(most.read.length, 1796u);
  EXPECT_EQ(most.read_parts()[0], (ByteStrips{.range = most.read.range}));
}

TEST(AccessEval, DivisionAndRemainderGiveBackTheId) {
  // row = i / w; col = i % w; out[row*pitch + col]
  for (const int64_t pitch : {50, 64}) {
    KernelMaker k;
    const auto out = k.buffer("out", 1 << 20);
    const auto w = k.scalar("w", 50);
    const auto i = k.trunc(k.gid(0));
    const auto row = k.op(ExprKind::kSDiv, i, k.arg(w));
    const auto col = k.op(ExprKind::kSRem, i, k.arg(w));
    k.store(out, k.times(k.sext(k.add(k.times(row, pitch), col)), 4));
    const auto access = k.evaluate(launch_1d(1000, 100));
    ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
    const auto use = use_of(access.package(0, 1, 1), out);
    const auto begin = static_cast<uint64_t>(2 * pitch * 4);
    EXPECT_EQ(use.write.range, (ByteRange{begin, begin + static_cast<uint64_t>(pitch) * 4 + 200}));
    EXPECT_EQ(use.overwrites, pitch == 50);
  }
}

TEST(AccessEval, NeighboursThatWrapAroundAreReadInTwoParts) {
  // out[y*w + x] = in[((y + h - 1) % h)*w + x] + in[((y + 1) % h)*w + x]
  constexpr uint64_t kRow = 256 * 4, kAll = 512 * kRow;
  KernelMaker k;
  const auto in = k.buffer("in", kAll);
  const auto out = k.buffer("out", kAll);
  const auto w = k.scalar("w", 256);
  const auto h = k.scalar("h", 512);
  const auto x = k.trunc(k.gid(0));
  const auto y = k.trunc(k.gid(1));
  const auto at = [&](auto row) { return k.times(k.sext(k.add(k.mul(row, k.arg(w)), x)), 4); };
  k.load(in, at(k.op(ExprKind::kSRem, k.plus(k.add(y, k.arg(h)), -1), k.arg(h))));
  k.load(in, at(k.op(ExprKind::kSRem, k.plus(y, 1), k.arg(h))));
  k.store(out, at(y));
  const auto access = k.evaluate(launch_2d(256, 512, 16, 8));
  ASSERT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
  ASSERT_EQ(access.verdict().dimension, 1u);
  const auto upper = use_of(access.package(1, 0, 32), in);
  EXPECT_EQ(upper.read.range, (ByteRange{0, kAll}));
  EXPECT_EQ(upper.unread, (ByteRange{257 * kRow, 511 * kRow}));
  EXPECT_EQ(upper.read_parts()[1].range, (ByteRange{511 * kRow, kAll}));
  EXPECT_EQ(use_of(access.package(1, 32, 32), in).unread, (ByteRange{kRow, 255 * kRow}));
  const auto middle = use_of(access.package(1, 8, 8), in);
  EXPECT_EQ(middle.read.range, (ByteRange{63 * kRow, 129 * kRow}));
  EXPECT_EQ(middle.read_parts()[0], middle.read);
  EXPECT_TRUE(use_of(access.whole(), in).unread.empty());
}

TEST(AccessEval, WhatLiesBetweenArraysOfOneBufferIsNotMoved) {
  // out[i] = in[i] + in[n + i]
  KernelMaker k;
  const auto in = k.buffer("in", 2 << 20);
  const auto out = k.buffer("out", 1 << 20);
  k.load(in, k.times(k.gid(0), 4));
  k.load(in, k.times(k.plus(k.gid(0), 1 << 18), 4));
  k.store(out, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(1 << 18, 64));
  const auto half = use_of(access.package(0, 0, 2048), in);
  EXPECT_EQ(half.read_parts()[0].range, (ByteRange{0, 1 << 19}));
  EXPECT_EQ(half.read_parts()[1].range, (ByteRange{1 << 20, (1 << 20) + (1 << 19)}));
  // Not worth a transfer of its own.
  const auto most = use_of(access.package(0, 0, 4092), in);
  EXPECT_EQ(most.unread.size(), 1024u);
  EXPECT_EQ(most.read_parts()[0], most.read);
}

TEST(AccessEval, ButterflyStaysWithinItsGroup) {
  KernelMaker k;
  const auto data = k.buffer("data", 4096);
  k.store(data, k.times(k.op(ExprKind::kXor, k.gid(0), k.c(8)), 4));
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(k.evaluate(launch_1d(1024, 8)).verdict().mode, MergeMode::kDiff);
}

TEST(AccessEval, NeighbouringStoresTogetherOverwrite) {
  KernelMaker k;
  const auto out = k.buffer("out", 8192);
  const auto base = k.times(k.gid(0), 8);
  k.store(out, base);
  k.store(out, k.plus(base, 4));
  EXPECT_TRUE(use_of(k.evaluate(launch_1d(1024, 16)).package(0, 2, 2), out).overwrites);
  k.summary().accesses.pop_back();
  const auto half = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(half.verdict().mode, MergeMode::kDisjoint);
  EXPECT_FALSE(use_of(half.package(0, 2, 2), out).overwrites);
}

TEST(AccessEval, OverwritesNeedsExactGuardsAndLoops) {
  KernelMaker k;
  const auto out = k.buffer("out", 64 * 1024);
  const auto loop = k.add_loop(k.c(15));
  const auto offset = k.times(k.add(k.times(k.gid(0), 16), k.loop(loop)), 4);
  k.store(out, offset, 4, {}, {loop});
  const auto overwrites = [&] {
    return use_of(k.evaluate(launch_1d(1024, 16)).package(0, 1, 1), out).overwrites;
  };
  EXPECT_TRUE(overwrites());
  k.summary().loops[0].exact = false;
  EXPECT_FALSE(overwrites());
  k.summary().loops[0].exact = true;
  k.summary().accesses[0].guards_exact = false;
  EXPECT_FALSE(overwrites());
  k.summary().accesses[0].guards_exact = true;
  k.summary().accesses[0].guards.push_back({Compare::kNe, k.unknown(32), k.c(0, 32)});
  EXPECT_FALSE(overwrites());
}

TEST(AccessEval, OverwritesNeedsGuardsThatCutABox) {
  // if (x + y < 10) out[y*16 + x] leaves a triangle.
  KernelMaker k;
  const auto out = k.buffer("out", 1024);
  const auto sum = k.add(k.gid(0), k.gid(1));
  k.store(out, k.times(k.add(k.times(k.gid(1), 16), k.gid(0)), 4), 4,
          {{Compare::kULt, sum, k.c(10)}});
  EXPECT_FALSE(use_of(k.evaluate(launch_2d(16, 16, 4, 4)).whole(), out).overwrites);
  k.summary().accesses[0].guards[0].right = k.c(31);
  EXPECT_TRUE(use_of(k.evaluate(launch_2d(16, 16, 4, 4)).whole(), out).overwrites);
}

TEST(AccessEval, OverwritesKnowsThatIdsDependOnEachOther) {
  // if (20 <= gid && gid < 35) out[lid] with groups of 16: lid is 4 … 15 or 0 … 2, never 3.
  KernelMaker k;
  const auto out = k.buffer("out", 64);
  k.store(out, k.times(k.lid(0), 4), 4,
          {{Compare::kUGe, k.gid(0), k.c(20)}, {Compare::kULt, k.gid(0), k.c(35)}});
  const auto use = use_of(k.evaluate(launch_1d(48, 16)).whole(), out);
  EXPECT_EQ(use.write.range, (ByteRange{0, 64}));
  EXPECT_FALSE(use.overwrites);
}

TEST(AccessEval, AliasedArgumentsAreJudgedTogether) {
  const auto evaluated = [](uint64_t origin) {
    KernelMaker k;
    const auto a = k.buffer("a", 4096, 1, 0);
    const auto b = k.buffer("b", 4096, 1, origin);
    k.store(a, k.times(k.gid(0), 4));
    k.store(b, k.times(k.gid(0), 4));
    return k.evaluate(launch_1d(1024, 16));
  };
  EXPECT_EQ(evaluated(0).verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(evaluated(4096).verdict().mode, MergeMode::kDisjoint);
  const auto overlapping = evaluated(4);
  EXPECT_EQ(overlapping.verdict().mode, MergeMode::kDiff);
  ASSERT_EQ(overlapping.regions().size(), 1u);
  EXPECT_EQ(overlapping.regions()[0].arguments, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(overlapping.regions()[0].range, (ByteRange{0, 4100}));
}

TEST(AccessEval, InPlaceThroughTwoArgumentsDoesNotOverwrite) {
  KernelMaker k;
  const auto a = k.buffer("a", 4096, 1);
  const auto b = k.buffer("b", 4096, 1);
  k.load(a, k.times(k.gid(0), 4));
  k.store(b, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_FALSE(use_of(access.package(0, 0, 1), b).overwrites);
}

TEST(AccessEval, StoreOfOneSliceBesideTheRegularOnes) {
  // out[i + 1] = …; if (i == 0) out[0] = …
  KernelMaker k;
  const auto out = k.buffer("out", 5000);
  const auto i = k.gid(0);
  k.store(out, k.plus(k.times(i, 4), 4));
  k.store(out, k.c(0), 4, {{Compare::kEq, i, k.c(0)}});
  const auto access = k.evaluate(launch_1d(1024, 16));
  // Slice 0 would reach one element further down than a slice may be long.
  EXPECT_EQ(access.verdict().mode, MergeMode::kDiff);
  k.summary().accesses[1].offset = k.c(4);
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
}

TEST(AccessEval, DescendingStores) {
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  k.store(out, k.times(k.sub(k.c(1023), k.gid(0)), 4));
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(use_of(access.package(0, 0, 2), out), (ArgumentUse{out, {}, {4096 - 128, 4096}, true}));
}

TEST(AccessEval, WrappingIndexIsNotTrusted) {
  // (uchar)(gid * 2): slices beyond 128 items wrap onto the first ones.
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  k.store(out, k.zext(k.trunc(k.times(k.gid(0), 2), 8)), 1);
  EXPECT_EQ(k.evaluate(launch_1d(64, 16)).verdict().mode, MergeMode::kDisjoint);
  const auto access = k.evaluate(launch_1d(256, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDiff);
  EXPECT_EQ(access.regions()[0].range, (ByteRange{0, 256}));
  EXPECT_EQ(use_of(access.whole(), out).write.range, (ByteRange{0, 256}));
}

TEST(AccessEval, ProductsThatOverflowMayBeNegative) {
  // min(0, (2^32 − 4)²): as a signed 64-bit number the product is negative.
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  const auto big = k.c((int64_t{1} << 32) - 4);
  const auto least = k.op(ExprKind::kSMin, k.c(0), k.mul(big, big));
  k.store(out, k.plus(k.op(ExprKind::kAShr, least, k.c(28)), 1024), 4);
  // −2^35 + 16 shifted by 28 is −128.
  const auto use = use_of(k.evaluate(launch_1d(64, 16)).whole(), out);
  EXPECT_LE(use.write.range.begin, 896u);
  EXPECT_FALSE(use.overwrites);
}

TEST(AccessEval, VolatileImagesAndWholeReasons) {
  KernelMaker k;
  const auto hist = k.buffer("hist", 1024);
  k.access(AccessKind::kAtomic, hist, k.times(k.zext(k.unknown(8)), 4), 4);
  k.summary().accesses[0].kind = AccessKind::kLoad;
  k.summary().accesses[0].is_volatile = true;
  auto verdict = k.evaluate(launch_1d(1024, 16)).verdict();
  EXPECT_EQ(verdict.reason, "argument 'hist' is accessed as volatile");

  k.summary().accesses[0].is_volatile = false;
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
  k.summary().whole_reason = "calls printf";
  k.summary().whole_line = 3;
  verdict = k.evaluate(launch_1d(1024, 16)).verdict();
  EXPECT_EQ(verdict.reason, "calls printf (line 3)");
  EXPECT_EQ(verdict.line, 3u);
  k.summary().whole_reason.clear();
  k.summary().arguments[0].kind = ArgKind::kImage;
  k.summary().arguments[0].access = "read_only";
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
  k.summary().arguments[0].access = "read_write";
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kWhole);
  // Pixels that cannot be told apart: images are not compared.
  k.summary().arguments[0].access = "write_only";
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
  k.summary().accesses[0].kind = AccessKind::kStore;
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kWhole);
}

TEST(AccessEval, GuardsOnArgumentsSwitchAccessesOff) {
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  const auto hist = k.buffer("hist", 4096);
  const auto on = k.scalar("on", 0);
  k.store(out, k.times(k.gid(0), 4));
  k.access(AccessKind::kAtomic, hist, k.c(0), 4, {{Compare::kNe, k.arg(on), k.c(0, 32)}});
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_TRUE(use_of(access.whole(), hist).write.empty());
}

TEST(AccessEval, NullBuffersAndSingleGroups) {
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  k.store(out, k.times(k.gid(0), 4));
  EXPECT_EQ(k.evaluate(launch_1d(16, 16)).verdict().reason, "the launch has a single work-group");
  auto values = k.values();
  values[0].buffer = 0;
  const auto access = LaunchAccess::evaluate(k.summary(), launch_1d(1024, 16), values);
  EXPECT_TRUE(access.whole().empty());
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
}

TEST(AccessEval, OffsetsOfTheLaunchCount) {
  KernelMaker k;
  const auto out = k.buffer("out", 1 << 16);
  k.store(out, k.times(k.gid(0), 4));
  k.load(out, k.times(k.sub(k.gid(0), k.node(ExprKind::kGlobalOffset, 64)), 4));
  const auto use = use_of(k.evaluate(launch_1d(1024, 16, 100)).package(0, 1, 1), out);
  EXPECT_EQ(use.write.range, (ByteRange{464, 528}));
  EXPECT_EQ(use.read.range, (ByteRange{64, 128}));
}

TEST(AccessEval, LargeBuffersBeyondFourGiB) {
  KernelMaker k;
  const auto out = k.buffer("out", uint64_t{1} << 36);
  k.store(out, k.times(k.gid(0), 16), 16);
  const auto access = k.evaluate(launch_1d(uint64_t{1} << 32, 256));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(use_of(access.package(0, (1 << 24) - 1, 1), out).write.range,
            (ByteRange{(uint64_t{1} << 36) - 4096, uint64_t{1} << 36}));
}

TEST(AccessEval, AChoiceIsNotTheSameTwice) {
  // p = c ? 0 : gid; out[p − p'] where the two may differ: never a constant.
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  const auto choice = k.node(ExprKind::kHull, 64, {k.c(0), k.gid(0)});
  k.store(out, k.plus(k.times(k.sub(choice, choice), 4), 512));
  EXPECT_EQ(use_of(k.evaluate(launch_1d(128, 16)).whole(), out).write.range, (ByteRange{4, 1024}));
}

TEST(AccessEval, DamagedSummariesAreHarmless) {
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  const auto self = k.node(ExprKind::kAdd, 64, {0, 0});
  k.store(out, self, 4, {{Compare::kEq, 999, 0}}, {42});
  k.summary().exprs[self].operands = {self, 77};
  k.store(5, self);
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kWhole);
  EXPECT_EQ(use_of(access.whole(), out).write.range, (ByteRange{0, 4096}));
}

TEST(AccessEval, LaunchesOutOfRangeAreWhole) {
  KernelMaker k;
  const auto out = k.buffer("out", 4096);
  k.store(out, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(~uint64_t{0} - 15, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kWhole);
  EXPECT_EQ(use_of(access.package(0, 1, 1), out).write.range, (ByteRange{0, 4096}));
}

}  // namespace
}  // namespace tutti::scheduler::test
