// SPDX-License-Identifier: Apache-2.0
// What a device has of a buffer: all of it, or one range. Where a byte of the buffer lies in the
// device's memory is asked here alone. A plain value; the memory is the buffer's.
#pragma once

#include <algorithm>
#include <bit>

#include "backends/api/backend.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/memory/segment_rows.h"

namespace tutti::scheduler {

struct Shard {
  backends::Memory* memory = nullptr;
  ByteRange range;  // bytes of the buffer that `memory` holds, from its first byte on

  /// The position in `memory` of a byte of the buffer, which is in the range.
  uint64_t at(uint64_t position) const { return position - range.begin; }
  /// Rows of the buffer, as the device's queues want them.
  backends::BufferRows rows(const SegmentRows& rows) const {
    return {at(rows.first.begin), rows.length(), rows.pitch, rows.count};
  }
  bool holds(uint64_t begin, uint64_t end) const {
    return begin >= end || (range.begin <= begin && end <= range.end);
  }
};

/// Shards begin and end at multiples of so many bytes, or at the buffer's end: pages, which are
/// multiples of every alignment that kernels may rely on.
inline constexpr uint64_t kShardUnit = 64 << 10;
/// Where the smallest device has so many bytes of memory: some units of each of several buffers are
/// a small part of it.
inline uint64_t shard_unit_for(uint64_t memory) {
  constexpr uint64_t kLeastUnit = 4 << 10, kUnits = 1024;
  return std::clamp(std::bit_floor(memory / kUnits), kLeastUnit, kShardUnit);
}

}  // namespace tutti::scheduler
