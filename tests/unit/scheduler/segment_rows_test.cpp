// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/segment_rows.h"

#include <gtest/gtest.h>

#include <random>

#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {
namespace {

using Segment = ResidencyMap::Segment;

TEST(SegmentRows, EqualSegmentsAtEqualDistancesAreOneGroup) {
  const std::vector<Segment> segments{{0, 8, 1}, {32, 40, 1}, {64, 72, 1}, {100, 108, 1}};
  EXPECT_EQ(rows_of(segments),
            (std::vector<SegmentRows>{{{0, 8, 1}, 32, 3}, {{100, 108, 1}, 0, 1}}));
}

TEST(SegmentRows, PackagesThatTakeTurnsAreGroupedApart) {
  std::vector<Segment> segments;
  for (uint64_t row = 0; row < 50; ++row) {
    segments.push_back({row * 100, row * 100 + 10, 2});
    segments.push_back({row * 100 + 20, row * 100 + 50, 2});
    segments.push_back({row * 100 + 60, row * 100 + 70, 4});
  }
  EXPECT_EQ(rows_of(segments),
            (std::vector<SegmentRows>{
                {{0, 10, 2}, 100, 50}, {{20, 50, 2}, 100, 50}, {{60, 70, 4}, 100, 50}}));
}

TEST(SegmentRows, EverySegmentIsInOneGroup) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Segment> segments;
    uint64_t at = 0;
    for (uint32_t i = random() % 60; i > 0; --i) {
      at += 1 + random() % 4;
      const uint64_t end = at + 1 + random() % 3;
      segments.push_back({at, end, 1 + random() % 2});
      at = end;
    }
    std::vector<Segment> back;
    for (const SegmentRows& rows : rows_of(segments)) {
      for (uint64_t i = 0; i < rows.count; ++i) {
        const uint64_t step = i * rows.pitch;
        back.push_back({rows.first.begin + step, rows.first.end + step, rows.first.places});
      }
    }
    std::sort(back.begin(), back.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    EXPECT_EQ(back, segments);
  }
}

TEST(ByteStrips, VisitsWhatTheyContain) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    ByteStrips strips;
    strips.range.begin = random() % 40;
    strips.range.end = strips.range.begin + random() % 60;
    strips.phase = static_cast<int64_t>(random() % 60) - 20;
    strips.period = 1 + random() % 20;
    strips.length = 1 + random() % strips.period;
    const uint64_t from = random() % 100;
    const uint64_t to = from + random() % 60;
    std::vector<bool> visited(200);
    uint64_t count = 0, last = 0;
    strips.for_each_in(from, to, [&](uint64_t begin, uint64_t end) {
      EXPECT_LE(last, begin);
      EXPECT_LT(begin, end);
      last = end;
      ++count;
      for (uint64_t i = begin; i < end; ++i) visited[i] = true;
    });
    EXPECT_LE(count, strips.count());
    const auto period = static_cast<int64_t>(strips.period);
    for (uint64_t i = 0; i < visited.size(); ++i) {
      const int64_t residue = ((static_cast<int64_t>(i) - strips.phase) % period + period) % period;
      const bool in = i >= std::max(from, strips.range.begin) &&
                      i < std::min(to, strips.range.end) &&
                      residue < static_cast<int64_t>(strips.length);
      EXPECT_EQ(visited[i], in) << i;
    }
  }
}

}  // namespace
}  // namespace tutti::scheduler
