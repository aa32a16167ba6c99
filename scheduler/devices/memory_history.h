// SPDX-License-Identifier: Apache-2.0
// What happens to one device's memory over time: how many bytes buffers have there, what was
// evicted to make room, and which shards were made or changed. The trace is told of each; of the
// latter two there are sums for the summary. Thread-safe. With the trace off, a change of the bytes
// costs one relaxed load.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/thread_annotations.h"
#include "base/trace.h"
#include "scheduler/devices/thinned_counter.h"

namespace tutti::scheduler {

class MemoryHistory {
 public:
  struct Sum {
    uint64_t count = 0, bytes = 0;
  };
  struct Sums {
    Sum evicted;   // buffers that went back to the host since the memory was full
    Sum reshaped;  // shards that were made or changed: their sizes afterwards
  };

  /// The process that stands for the device in the trace (device_process()), and the device's index
  /// (DeviceTraits). Before first use.
  void set_device(uint32_t process, uint32_t index);
  /// Buffers have so many bytes there from now on.
  void changed(uint64_t bytes) {
    if (trace::on()) trace_bytes(bytes);
  }
  void evicted(uint64_t bytes, uint64_t began_ns);
  void reshaped(uint64_t bytes, uint64_t began_ns);
  /// Tells the trace what it has not been told of the bytes: the peak and the last of them.
  void tell_rest();
  Sums sums() const;

 private:
  void trace_bytes(uint64_t bytes);
  void count(Sum Sums::*sum, std::string_view what, uint64_t bytes, uint64_t began_ns);

  uint32_t process_ = trace::kDevices, index_ = 0;  // constant once used
  mutable Mutex mutex_;
  ThinnedCounter bytes_ TUTTI_GUARDED_BY(mutex_);
  bool named_ TUTTI_GUARDED_BY(mutex_) = false;  // the row
  Sums sums_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
