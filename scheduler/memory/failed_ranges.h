// SPDX-License-Identifier: Apache-2.0
// What a buffer lacks since commands failed: ranges that they should have written, each with the
// error, until it is written anew. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/api/backend.h"
#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

class FailedRanges {
 public:
  bool empty() const { return ranges_.empty(); }
  /// The range should have been written by what failed with `error`, which replaces an older one.
  void add(const ByteRange& range, cl_int error);
  /// The range has new content.
  void clear(const ByteRange& range);
  /// The error of something in the range; CL_SUCCESS: nothing of it has failed.
  cl_int error_in(const ByteRange& range) const;

 private:
  struct Failed {
    ByteRange range;
    cl_int error;
  };
  std::vector<Failed> ranges_;  // apart
};

}  // namespace tutti::scheduler
