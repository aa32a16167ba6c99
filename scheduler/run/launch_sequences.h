// SPDX-License-Identifier: Apache-2.0
// Which launch comes behind which in a stream, and what each has read where: so that when
// one begins it can be said what the next one will read where. Learned from what happened, in this
// process and, where the model is kept, in earlier ones. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/devices/place.h"
#include "scheduler/model/performance_model.h"

namespace tutti::scheduler {

/// What a launch has read of a buffer at one place.
struct PlaceRead {
  uint64_t buffer = 0;  // LogicalBuffer::id()
  Place place = kHostPlace;
  ByteStrips strips;
};
using PlaceReads = std::vector<PlaceRead>;

class LaunchSequences {
 public:
  explicit LaunchSequences(PerformanceModel& model) : model_(model) {}

  struct Begin {
    /// What the launch behind it will read, if all goes on as before; null: nothing can be said.
    std::shared_ptr<const PlaceReads> next;
    /// Whether it is the one that was expected; absent: none was.
    std::optional<bool> expected;
  };
  /// A launch begins as the next one of the stream (Stream::number()). `launch`: the same whenever
  /// a kernel is launched alike, with the same buffers.
  Begin begins(uint32_t stream, uint64_t launch);
  /// What it has read.
  void ended(uint32_t stream, uint64_t launch, PlaceReads reads);

 private:
  struct Launch {
    uint64_t next = 0;     // what came behind it the last time; 0: nothing yet
    bool doubted = false;  // another one had come before: that it comes once more is to be seen
    bool earlier = false;  // `next` is of an earlier process
    bool kept = false;     // for later ones
    uint32_t ends = 0;
    std::shared_ptr<const PlaceReads> reads;  // null: not known
  };
  struct Sequence {
    std::unordered_map<uint64_t, Launch> launches;
    uint64_t newest = 0;   // 0: none yet
    bool guessed = false;  // what comes behind that
    uint64_t used_at = 0;
  };
  Sequence& sequence_of(uint32_t stream) TUTTI_REQUIRES(mutex_);
  /// As it is known, or was to an earlier process.
  Launch& launch_of(Sequence& sequence, uint64_t launch) TUTTI_REQUIRES(mutex_);
  /// For later processes.
  void keep(uint64_t id, Launch& launch) TUTTI_REQUIRES(mutex_);

  PerformanceModel& model_;
  mutable Mutex mutex_;
  std::map<uint32_t, Sequence> sequences_ TUTTI_GUARDED_BY(mutex_);  // by stream
  uint64_t uses_ TUTTI_GUARDED_BY(mutex_) = 0;
  size_t asked_ TUTTI_GUARDED_BY(mutex_) = 0;  // launches that the model was asked for
  size_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;   // those that it was given
};

}  // namespace tutti::scheduler
