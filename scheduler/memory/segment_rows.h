// SPDX-License-Identifier: Apache-2.0
// Segments of a directory that lie like the rows of a rectangle, so that one transfer moves them.
// Pure logic.
#pragma once

#include <span>
#include <vector>

#include "scheduler/memory/residency_map.h"

namespace tutti::scheduler {

/// `count` segments like the first, each `pitch` bytes after the one before (0 for a single one).
struct SegmentRows {
  ResidencyMap::Segment first;
  uint64_t pitch = 0;
  uint64_t count = 1;

  uint64_t length() const { return first.end - first.begin; }
  uint64_t end() const { return first.end + pitch * (count - 1); }
  bool operator==(const SegmentRows&) const = default;
};

/// All segments (ascending, apart), each in one group, groups ascending by their first row.
std::vector<SegmentRows> rows_of(std::span<const ResidencyMap::Segment> segments);

}  // namespace tutti::scheduler
