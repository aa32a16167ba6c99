// SPDX-License-Identifier: Apache-2.0
// A launch as it is remembered over processes: what came behind it, and what it read where. Numbers
// as the engine uses them; plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::scheduler {

struct KeptLaunch {
  /// Bytes of a buffer, as ByteStrips, at a place. Buffers are numbered as a process makes them: a
  /// program that does the same again has the same numbers.
  struct Read {
    uint64_t buffer = 0;
    uint32_t place = 0;
    uint64_t begin = 0, end = 0;  // begin < end
    int64_t phase = 0;
    uint64_t period = 0, length = 0;  // 0 < length ≤ period, or both 0
    bool operator==(const Read&) const = default;
  };
  uint64_t next = 0;  // the launch that came behind it; 0: none is known
  std::vector<Read> reads;
  bool operator==(const KeptLaunch&) const = default;
};

}  // namespace tutti::scheduler
