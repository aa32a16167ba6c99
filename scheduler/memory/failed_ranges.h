// SPDX-License-Identifier: Apache-2.0
// What a buffer lacks since commands failed: ranges that they should have written, each with the
// error, until it is written anew. Commands have numbers, in the order in which they were enqueued,
// since it becomes known late how they ended: what has written a range anew does so for commands
// before it only. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/api/backend.h"
#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

class FailedRanges {
 public:
  bool empty() const { return ranges_.empty(); }
  static constexpr uint64_t kLast = UINT64_MAX;
  /// The range should have been written by command `number`, which failed with `error`; that
  /// replaces an older one.
  void add(const ByteRange& range, cl_int error, uint64_t number = 0);
  /// The range has new content, by command `number`.
  void clear(const ByteRange& range, uint64_t number = kLast);
  /// The error of something in the range; CL_SUCCESS: nothing of it has failed.
  cl_int error_in(const ByteRange& range) const;

 private:
  struct Failed {
    ByteRange range;
    cl_int error;
    uint64_t number;
  };
  std::vector<Failed> ranges_;  // apart
};

}  // namespace tutti::scheduler
