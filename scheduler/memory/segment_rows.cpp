// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/segment_rows.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

// How far ahead the second row is looked for: the packages that lie between two of one device.
constexpr size_t kLookAhead = 64;

bool alike(const ResidencyMap::Segment& a, const ResidencyMap::Segment& b) {
  return a.places == b.places && a.end - a.begin == b.end - b.begin;
}

}  // namespace

std::vector<SegmentRows> rows_of(std::span<const ResidencyMap::Segment> segments) {
  std::vector<SegmentRows> result;
  std::vector<bool> taken(segments.size());
  const auto find = [&](uint64_t begin, size_t from) {
    const auto at = std::lower_bound(
        segments.begin() + static_cast<std::ptrdiff_t>(from), segments.end(), begin,
        [](const ResidencyMap::Segment& segment, uint64_t value) { return segment.begin < value; });
    return static_cast<size_t>(at - segments.begin());
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    if (taken[i]) continue;
    SegmentRows rows{segments[i], 0, 1};
    const size_t last = std::min(segments.size(), i + 1 + kLookAhead);
    for (size_t j = i + 1; j < last; ++j) {
      if (taken[j] || !alike(segments[i], segments[j])) continue;
      rows.pitch = segments[j].begin - segments[i].begin;
      for (size_t k = j; k < segments.size() && !taken[k];) {
        if (segments[k].begin != segments[i].begin + rows.pitch * rows.count) break;
        if (!alike(segments[i], segments[k])) break;
        taken[k] = true;
        ++rows.count;
        k = find(segments[i].begin + rows.pitch * rows.count, k + 1);
      }
      break;
    }
    result.push_back(rows);
  }
  return result;
}

}  // namespace tutti::scheduler
