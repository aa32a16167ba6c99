// SPDX-License-Identifier: Apache-2.0
// The vendor queues of one virtual queue, made at first use. Thread-safe.
//
// Every device has two in-order vendor queues: one measures times, the other does not, since on
// some devices measuring costs more than a small kernel. Where it costs nothing, or the application
// wants all times, there is the measuring one alone. What runs on one of them waits for what was
// submitted to the other before, so that together they are one in-order queue. A third one, which
// measures too, takes packages of a split that shall run beside those of the measuring queue.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {

class DeviceQueues {
 public:
  /// `all_times`: the application wants the times of all.
  DeviceQueues(BackendSet& backends, bool all_times, const backends::QueueHints& hints)
      : backends_(backends),
        all_times_(all_times),
        hints_(hints),
        devices_(backends.real_count()) {}

  /// The queue on the device; `measured`: one that measures times.
  Result<backends::Queue*> queue(uint32_t backend, bool measured) {
    return queue_of(backend, measured || has_one_lane(backend) ? kMeasured : kPlain);
  }
  Result<backends::Queue*> side_queue(uint32_t backend) { return queue_of(backend, kSide); }

  /// Where to submit a command of the direct path, and what it must wait for beside its own
  /// dependencies (null: nothing).
  struct Turn {
    backends::Queue* queue = nullptr;
    size_t lane = 0;
    backends::CompletionPtr after;
  };
  Result<Turn> next_turn(uint32_t backend, bool measured);
  /// `newest` was submitted in this turn.
  void submitted(uint32_t backend, const Turn& turn, backends::CompletionPtr newest);

  /// Visits those that exist already, on one device or all.
  template <typename Visit>
  void visit(uint32_t backend, const Visit& visitor) const {
    const Lanes* const lanes = devices_.find(backend);
    if (lanes == nullptr) return;
    for (const Lane& lane : *lanes) {
      if (auto* queue = lane.queue.load(std::memory_order_acquire)) visitor(*queue);
    }
  }
  template <typename Visit>
  void visit(const Visit& visitor) const {
    for (uint32_t i = 0; i < backends_.count(); ++i) visit(i, visitor);
  }

 private:
  static constexpr size_t kPlain = 0, kMeasured = 1, kSide = 2;
  struct Lane {
    std::unique_ptr<backends::Queue> made;  // guarded by mutex_
    std::atomic<backends::Queue*> queue{};  // made, read without a lock
    backends::CompletionPtr newest;         // guarded by mutex_
    bool follows_other = true;              // has waited for the other lane's newest; likewise
  };
  using Lanes = std::array<Lane, 3>;

  Result<backends::Queue*> queue_of(uint32_t backend, size_t index);
  bool has_one_lane(uint32_t backend) const {
    return all_times_ || !backends_.traits(backend).costly_profiling;
  }

  BackendSet& backends_;
  const bool all_times_;
  const backends::QueueHints hints_;
  Mutex mutex_;
  PerBackend<Lanes> devices_;
};

}  // namespace tutti::scheduler
