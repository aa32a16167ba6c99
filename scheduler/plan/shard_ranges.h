// SPDX-License-Identifier: Apache-2.0
// Of which buffers of a launch a device may have a part, and what slices of the launch touch of
// those. Bytes of the buffers. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "scheduler/access/byte_range.h"
#include "scheduler/balance/regions.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

/// A range of each buffer.
using BufferRanges = std::map<LogicalBuffer*, ByteRange>;

/// The buffers of which a device may have a part in this launch, with empty ranges. Not those with
/// something that is `merged`, nor those of at most `unit` bytes.
BufferRanges divisible_buffers(const KernelWork& work, std::span<const MergeRegion> merged,
                               uint64_t unit);

/// Of the buffers in `divisible`, what these slices touch, in whole units and never nothing: the
/// vendor's kernel wants some memory all the same.
BufferRanges touched_ranges(const KernelWork& work, const KernelPlan& plan,
                            const BufferRanges& divisible, const SliceRange& slices, uint64_t unit);

/// So many bytes of a buffer of `size`, about, that hold `range`; begins at a multiple of `unit`.
ByteRange stretched(const ByteRange& range, uint64_t bytes, uint64_t unit, uint64_t size);

/// `share`, which may be empty, and `by` slices more on either side, of so many slices in all.
SliceRange extended(const SliceRange& share, uint64_t by, uint64_t slices);

/// The first `count` of the slices, or the last ones.
inline SliceRange part_of(const SliceRange& slices, uint64_t count, bool downwards) {
  return {downwards ? slices.end() - count : slices.first, count};
}

/// The most slices, the first or last ones and `most` at most, of which `holds` is true, as it is
/// of fewer; 0: of none.
template <typename Holds>
uint64_t most_of(const SliceRange& slices, uint64_t most, bool downwards, const Holds& holds) {
  uint64_t some = 0, too_many = most + 1;
  while (too_many - some > 1) {
    const uint64_t count = some + (too_many - some) / 2;
    (holds(part_of(slices, count, downwards)) ? some : too_many) = count;
  }
  return some;
}

/// At most `most` slices that hold those of `package`, of so many slices in all: with what comes
/// before, or behind it.
SliceRange window_around(const SliceRange& package, uint64_t most, bool downwards, uint64_t slices);

}  // namespace tutti::scheduler
