// SPDX-License-Identifier: Apache-2.0
// When launches that write to parts of a buffer are expected to end: the parts that a launch waits
// for are those that it uses. Times are nanoseconds of the steady clock. Thread-safe: one lock,
// short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

class ExpectedEnds {
 public:
  /// A launch that writes to the range is expected to end at `end_ns`. What has ended by `now_ns`
  /// is forgotten.
  void add(const ByteRange& range, uint64_t end_ns, uint64_t now_ns) {
    if (range.empty()) return;
    MutexLock lock(mutex_);
    std::erase_if(writes_, [&](const Write& write) {
      return write.end_ns <= now_ns ||
             (range.begin <= write.range.begin && write.range.end <= range.end);
    });
    if (writes_.size() == kMost) {
      // All that is known becomes one: too late an end for some of it, never too early a one.
      for (const Write& write : writes_) {
        Write& first = writes_.front();
        first.range.begin = std::min(first.range.begin, write.range.begin);
        first.range.end = std::max(first.range.end, write.range.end);
        first.end_ns = std::max(first.end_ns, write.end_ns);
      }
      writes_.resize(1);
    }
    writes_.push_back({range, end_ns});
  }
  /// The last end of those that meet the range; 0: there are none.
  uint64_t last(const ByteRange& range) const {
    MutexLock lock(mutex_);
    uint64_t end_ns = 0;
    for (const Write& write : writes_) {
      if (!apart({write.range}, {range})) end_ns = std::max(end_ns, write.end_ns);
    }
    return end_ns;
  }

 private:
  struct Write {
    ByteRange range;
    uint64_t end_ns = 0;
  };
  static constexpr size_t kMost = 16;

  mutable Mutex mutex_;
  std::vector<Write> writes_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
