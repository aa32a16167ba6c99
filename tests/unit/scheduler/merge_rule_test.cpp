// SPDX-License-Identifier: Apache-2.0
// Writes that are no boxes: strips that repeat, and what has to be merged.
#include <gtest/gtest.h>

#include "kernel_maker.h"

namespace tutti::scheduler::test {
namespace {

/// The strips that a package writes, as ranges.
std::vector<ByteRange> strips_of(const ArgumentUse& use) {
  std::vector<ByteRange> strips;
  use.write.for_each([&](uint64_t begin, uint64_t end) { strips.push_back({begin, end}); });
  return strips;
}

TEST(MergeRule, GridStrideLoopWritesStrips) {
  KernelMaker k;
  const auto out = k.buffer("out", 2500 * 4);
  const auto n = k.scalar("n", 2500);
  const auto i = k.add(k.gid(0), k.mul(k.loop(0), k.global_size(0)));
  const auto loop = k.add_loop(std::nullopt, false);
  k.store(out, k.times(i, 4), 4, {{Compare::kULt, i, k.zext(k.arg(n))}}, {loop});
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().reason,
            "writes of argument 'out' repeat every 4096 bytes, where slices are 256 bytes apart");
  const auto use = use_of(access.package(0, 3, 2), out);
  EXPECT_EQ(strips_of(use), (std::vector<ByteRange>{{768, 1280}, {4864, 5376}, {8960, 9472}}));
  EXPECT_FALSE(use.overwrites);
  // The last strip is cut where the launch's writes end.
  EXPECT_EQ(strips_of(use_of(access.package(0, 6, 2), out)).back(), (ByteRange{9728, 10000}));
  // With as many work-items as elements it is an ordinary store.
  EXPECT_FALSE(use_of(k.evaluate(launch_1d(4096, 64)).package(0, 0, 1), out).write.strided());
}

TEST(MergeRule, UnrolledGridStrideLoop) {
  // Four copies of the body: the period is that of one of them.
  KernelMaker k;
  const auto out = k.buffer("out", 1 << 20);
  const auto loop = k.add_loop(k.c(3), true);
  for (int64_t copy = 0; copy < 4; ++copy) {
    k.store(out, k.plus(k.add(k.times(k.gid(0), 4), k.times(k.loop(0), 4 * 4096)), copy * 4096), 4,
            {}, {loop});
  }
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(use_of(access.package(0, 1, 1), out).write.period, 4096u);
}

TEST(MergeRule, ColumnsAndStructuresOfArraysAreStrips) {
  // out[y * 100 + x] where only x divides: one group of rows.
  KernelMaker k;
  const auto out = k.buffer("out", 100 * 8 * 4);
  k.store(out, k.times(k.add(k.times(k.gid(1), 100), k.gid(0)), 4));
  const auto columns = k.evaluate(launch_2d(96, 8, 16, 8));
  ASSERT_EQ(columns.verdict().mode, MergeMode::kDisjoint) << columns.verdict().reason;
  EXPECT_EQ(columns.verdict().dimension, 0u);
  EXPECT_EQ(use_of(columns.package(0, 1, 1), out).write.period, 400u);
  EXPECT_EQ(strips_of(use_of(columns.package(0, 1, 1), out))[1], (ByteRange{464, 528}));
  // A row shorter than what the slices sweep over would wrap onto the next one's columns.
  EXPECT_EQ(k.evaluate(launch_2d(112, 8, 16, 8)).verdict().mode, MergeMode::kDiff);
}

TEST(MergeRule, TooManyStripsAreCompared) {
  KernelMaker k;
  const auto out = k.buffer("out", 1 << 20);
  const auto loop = k.add_loop(k.c(8191), true);
  k.store(out, k.add(k.times(k.gid(0), 4), k.times(k.loop(0), 128)), 4, {}, {loop});
  EXPECT_EQ(k.evaluate(launch_1d(32, 8)).verdict().mode, MergeMode::kDiff);
}

TEST(MergeRule, ScatterIsComparedAndItsReadsAreUnknown) {
  KernelMaker k;
  const auto index = k.buffer("index", 4096);
  const auto out = k.buffer("out", 8192);
  k.load(index, k.times(k.gid(0), 4));
  k.store(out, k.times(k.sext(k.unknown(32)), 4)).line = 12;
  const auto access = k.evaluate(launch_1d(1024, 64));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDiff);
  EXPECT_EQ(access.verdict().reason,
            "the stores to argument 'out' (line 12) scatter: what each device changed is taken "
            "over");
  ASSERT_EQ(access.regions().size(), 1u);
  EXPECT_EQ(access.regions()[0].range, (ByteRange{0, 8192}));
  EXPECT_EQ(access.regions()[0].unit, 4u);
  EXPECT_EQ(access.regions()[0].arguments, std::vector<uint32_t>{out});
  EXPECT_EQ(use_of(access.package(0, 3, 1), out).merge, MergeMode::kDiff);
  EXPECT_FALSE(use_of(access.package(0, 3, 1), out).overwrites);
  // Read, too: another package may have written it, which only matters where races are distrusted.
  k.load(out, k.times(k.gid(0), 4)).line = 14;
  EXPECT_EQ(k.evaluate(launch_1d(1024, 64)).verdict().mode, MergeMode::kDiff);
  const auto values = k.values();
  const auto distrusting =
      LaunchAccess::evaluate(k.summary(), launch_1d(1024, 64), values, {.distrust_races = true})
          .verdict();
  EXPECT_EQ(distrusting.mode, MergeMode::kWhole);
  EXPECT_EQ(distrusting.line, 14u);
}

TEST(MergeRule, AtomicsWithUnusedResultsAreCombined) {
  KernelMaker k;
  const auto hist = k.buffer("hist", 1024);
  const auto update = [&](const char* op) -> Access& {
    Access& access = k.access(AccessKind::kAtomic, hist, k.times(k.zext(k.unknown(8)), 4), 4);
    access.atomic_op = op;
    access.line = 5;
    return access;
  };
  const auto evaluated = [&] { return k.evaluate(launch_1d(1024, 16)); };
  update("add");
  EXPECT_EQ(evaluated().verdict().mode, MergeMode::kAtomic);
  EXPECT_EQ(evaluated().regions()[0],
            (MergeRegion{MergeMode::kAtomic, MergeOperator::kSum, 4, {hist}, {0, 1024}}));
  EXPECT_EQ(use_of(evaluated().package(0, 0, 1), hist).merge, MergeMode::kAtomic);
  update("dec");
  EXPECT_EQ(evaluated().verdict().mode, MergeMode::kAtomic);

  update("umax");
  EXPECT_EQ(evaluated().verdict().reason,
            "argument 'hist' is updated by different kinds of atomics (line 5)");
  k.summary().accesses.pop_back();
  update("add").result_used = true;
  EXPECT_EQ(evaluated().verdict().reason,
            "uses the result of atomic add on argument 'hist' (line 5)");
  k.summary().accesses.pop_back();
  update("cmpxchg");
  EXPECT_EQ(evaluated().verdict().reason,
            "atomic cmpxchg on argument 'hist' cannot be merged (line 5)");
  k.summary().accesses.pop_back();
  update("add").size = 8;
  EXPECT_EQ(evaluated().verdict().mode, MergeMode::kWhole);
  k.summary().accesses.pop_back();
  k.load(hist, k.c(0)).line = 9;
  EXPECT_EQ(evaluated().verdict().reason,
            "argument 'hist' is read where work-items update it atomically (line 9)");
  // An exchange without a result is a store, but not beside additions.
  k.summary().accesses.clear();
  update("xchg");
  EXPECT_EQ(evaluated().verdict().mode, MergeMode::kDiff);
  update("add");
  EXPECT_EQ(evaluated().verdict().mode, MergeMode::kWhole);
}

TEST(MergeRule, FloatingPointAtomics) {
  KernelMaker k;
  const auto sums = k.buffer("sums", 1024);
  Access& access = k.access(AccessKind::kAtomic, sums, k.times(k.zext(k.unknown(8)), 4), 4);
  access.line = 5;
  const auto evaluated = [&](const char* op, bool any) {
    access.atomic_op = op;
    const auto values = k.values();
    return LaunchAccess::evaluate(k.summary(), launch_1d(1024, 16), values, {.float_sums = any});
  };
  // The order of sums is the user's to give up; the least and the largest do not depend on it.
  for (const char* op : {"fadd", "fsub"}) {
    EXPECT_EQ(evaluated(op, false).verdict().reason,
              "atomics on argument 'sums' add floating-point numbers, whose sum depends on their "
              "order (TUTTI_FLOAT_SUMS=any allows any) (line 5)");
    ASSERT_EQ(evaluated(op, true).verdict().mode, MergeMode::kAtomic);
    EXPECT_EQ(evaluated(op, true).regions()[0].op, MergeOperator::kFSum);
  }
  ASSERT_EQ(evaluated("fmin", false).verdict().mode, MergeMode::kAtomic);
  EXPECT_EQ(evaluated("fmin", false).regions()[0].op, MergeOperator::kFMin);
  EXPECT_EQ(evaluated("fmax", false).regions()[0].op, MergeOperator::kFMax);
}

TEST(MergeRule, SeldomAtomicsMayBeChangedByOnePlaceAlone) {
  KernelMaker k;
  const auto count = k.buffer("count", 4);
  const auto found = k.buffer("found", 4096);
  const auto out = k.buffer("out", 4096);
  const auto image = k.buffer("image", 4096);
  Access& ticket = k.access(AccessKind::kAtomic, count, k.c(0), 4);
  ticket.atomic_op = "inc";
  ticket.result_used = ticket.seldom = true;
  ticket.line = 7;
  k.store(found, k.times(k.zext(k.unknown(32)), 4));
  k.store(out, k.times(k.gid(0), 4));
  const auto access = k.evaluate(launch_1d(1024, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDiff);
  EXPECT_TRUE(access.verdict().alone);
  EXPECT_EQ(
      access.verdict().reason,
      "atomic inc on argument 'count' (line 7) is seldom reached: devices work on copies, and "
      "where more than one of them changed it, one does the work of the others once more");
  // All that is written can be dropped, also what would be apart.
  ASSERT_EQ(access.regions().size(), 3u);
  EXPECT_TRUE(access.regions()[0].alone);
  EXPECT_FALSE(access.regions()[1].alone);
  EXPECT_FALSE(access.regions()[2].alone);
  EXPECT_EQ(access.regions()[2].range, (ByteRange{0, 4096}));
  EXPECT_EQ(use_of(access.package(0, 3, 1), out).merge, MergeMode::kDiff);

  const auto mode = [&] { return k.evaluate(launch_1d(1024, 16)).verdict().mode; };
  Access& atomic = k.summary().accesses[0];
  atomic.decides_loop = true;
  EXPECT_EQ(mode(), MergeMode::kWhole);
  atomic.decides_loop = false;
  atomic.seldom = false;
  EXPECT_EQ(mode(), MergeMode::kWhole);
  const auto values = k.values();
  const auto verdict = [&](const SplitPolicy& policy) {
    return LaunchAccess::evaluate(k.summary(), launch_1d(1024, 16), values, policy).verdict();
  };
  const Verdict often = verdict({.frequent_atomics = true});
  EXPECT_TRUE(often.alone);
  EXPECT_EQ(often.reason,
            "atomic inc on argument 'count' (line 7): one device computes all, as its memory holds "
            "it");
  atomic.decides_loop = true;
  EXPECT_EQ(verdict({.frequent_atomics = true}).mode, MergeMode::kWhole);
  atomic.decides_loop = false;
  atomic.seldom = true;
  EXPECT_EQ(verdict({.distrust_races = true}).mode, MergeMode::kWhole);
  // Another atomic that everybody executes.
  k.access(AccessKind::kAtomic, out, k.c(0), 4).atomic_op = "add";
  EXPECT_EQ(mode(), MergeMode::kWhole);
  k.summary().accesses.pop_back();
  k.load(image, k.c(0));
  EXPECT_EQ(mode(), MergeMode::kDiff);
  k.store(image, k.times(k.gid(0), 4));
  k.summary().arguments[image].kind = ArgKind::kImage;
  EXPECT_EQ(mode(), MergeMode::kWhole);
}

TEST(MergeRule, SeldomAtomicsInMemoryWithTwoNames) {
  const auto mode = [](uint64_t origin) {
    KernelMaker k;
    const auto count = k.buffer("count", 64, 7, 0);
    const auto other = k.buffer("other", 64, 7, origin);
    Access& ticket = k.access(AccessKind::kAtomic, count, k.c(0), 4);
    ticket.atomic_op = "inc";
    ticket.result_used = ticket.seldom = true;
    k.load(other, k.c(0));
    return k.evaluate(launch_1d(1024, 16)).verdict().mode;
  };
  EXPECT_EQ(mode(64), MergeMode::kDiff);
  EXPECT_EQ(mode(0), MergeMode::kWhole);
}

TEST(MergeRule, AtomicsBetweenStoresThatAreMerged) {
  // a[0] and c[0] are stored by all, b[1] in between is counted up: three regions, none of which
  // reaches into another.
  KernelMaker k;
  const auto a = k.buffer("a", 64, 7, 0);
  const auto b = k.buffer("b", 64, 7, 0);
  const auto c = k.buffer("c", 64, 7, 8);
  k.store(a, k.c(0));
  k.access(AccessKind::kAtomic, b, k.c(4), 4).atomic_op = "add";
  k.store(c, k.c(4));
  const auto access = k.evaluate(launch_1d(64, 16));
  EXPECT_EQ(access.verdict().mode, MergeMode::kDiff);
  ASSERT_EQ(access.regions().size(), 3u);
  EXPECT_EQ(access.regions()[0].range, (ByteRange{0, 4}));
  EXPECT_EQ(access.regions()[1].range, (ByteRange{4, 8}));
  EXPECT_EQ(access.regions()[2].range, (ByteRange{12, 16}));
}

TEST(MergeRule, AtomicsOfOneSliceNeedNoMerge) {
  // Each group has counters of its own, and may use the results, and read them.
  KernelMaker k;
  const auto counters = k.buffer("counters", 1024);
  const auto mine = k.times(k.group(0), 16);
  k.access(AccessKind::kAtomic, counters, mine, 4).atomic_op = "add";
  k.summary().accesses[0].result_used = true;
  k.load(counters, k.plus(mine, 4));
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDisjoint);
  // But not those of the neighbour.
  k.load(counters, k.plus(mine, 16));
  k.summary().accesses[0].line = 8;
  const auto verdict = k.evaluate(launch_1d(1024, 16)).verdict();
  EXPECT_EQ(verdict.mode, MergeMode::kWhole);
  EXPECT_EQ(verdict.line, 8u);
}

TEST(MergeRule, AtomicsThroughSubBuffersThatOverlap) {
  const auto verdict = [](uint64_t origin) {
    KernelMaker k;
    const auto a = k.buffer("a", 1024, 7, 0);
    const auto b = k.buffer("b", 1024, 7, origin);
    for (const auto argument : {a, b}) {
      k.access(AccessKind::kAtomic, argument, k.times(k.zext(k.unknown(8)), 4), 4).atomic_op =
          "add";
    }
    return k.evaluate(launch_1d(1024, 16)).verdict().mode;
  };
  EXPECT_EQ(verdict(0), MergeMode::kAtomic);
  EXPECT_EQ(verdict(512), MergeMode::kWhole);
  EXPECT_EQ(verdict(1024), MergeMode::kAtomic);
}

TEST(MergeRule, TwoRegionsOfOneArgumentHaveNoDisjointBoxes) {
  // out[i] and out[n + i]: bounding ranges of packages would carry each other's bytes.
  KernelMaker k;
  const auto out = k.buffer("out", 8192);
  k.store(out, k.times(k.gid(0), 4));
  k.store(out, k.plus(k.times(k.gid(0), 4), 4096));
  EXPECT_EQ(k.evaluate(launch_1d(1024, 16)).verdict().mode, MergeMode::kDiff);
}

}  // namespace
}  // namespace tutti::scheduler::test
