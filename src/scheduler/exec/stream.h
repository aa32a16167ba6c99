// SPDX-License-Identifier: Apache-2.0
// A virtual command queue as the engine sees it: its unfinished commands, and one vendor queue per
// device, made at first use. Reference counted: unfinished commands keep their stream alive.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "platform/ref_counted.h"
#include "platform/thread_annotations.h"
#include "scheduler/exec/backend_set.h"
#include "scheduler/log/command.h"

namespace tutti::scheduler {

struct StreamOptions {
  bool out_of_order = false;
  bool profiling = false;
};

class Stream : public RefCounted {
 public:
  Stream(BackendSet& backends, StreamOptions options)
      : backends_(backends),
        options_(options),
        made_(backends.count()),
        queues_(backends.count()) {}

  const StreamOptions& options() const { return options_; }
  /// This stream's queue on the device; in-order, measuring times.
  Result<backends::Queue*> vendor_queue(uint32_t backend);
  /// The same if it exists already, else null.
  backends::Queue* existing_queue(uint32_t backend) const {
    return queues_[backend].load(std::memory_order_acquire);
  }

 private:
  friend class CommandLog;

  BackendSet& backends_;
  const StreamOptions options_;
  Mutex mutex_;
  std::vector<std::unique_ptr<backends::Queue>> made_ TUTTI_GUARDED_BY(mutex_);
  std::vector<std::atomic<backends::Queue*>> queues_;  // made_, read without a lock

  // Guarded by the log's lock.
  std::deque<Ref<Command>>
      outstanding_;       // in the order of enqueueing; done ones are dropped lazily
  Ref<Command> last_;     // in-order: the newest command
  Ref<Command> barrier_;  // out-of-order: the newest barrier
};

}  // namespace tutti::scheduler
