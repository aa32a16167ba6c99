// SPDX-License-Identifier: Apache-2.0
// A virtual command queue as the engine sees it: its unfinished commands, and its vendor queues,
// made at first use. Reference counted: unfinished commands keep their stream alive. Thread-safe,
// but for what the log's lock guards.
//
// Every device has two in-order vendor queues: one measures times, the other does not, since on
// some devices measuring costs more than a small kernel. Where it costs nothing, or the application
// wants all times, there is the measuring one alone. What runs on one of them waits for what was
// submitted to the other before, so that together they are one in-order queue. A third one, which
// measures too, takes packages of a split that shall run beside those of the measuring queue.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "base/ref_counted.h"
#include "base/thread_annotations.h"
#include "scheduler/command/command.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {

struct StreamOptions {
  bool out_of_order = false;
  bool profiling = false;
  BackendMask backends = 0;  // where its kernels may run; 0: the real devices
};

class Stream : public RefCounted {
 public:
  Stream(BackendSet& backends, StreamOptions options)
      : backends_(backends), options_(options), devices_(backends.real_count()) {
    if (options_.backends == 0) options_.backends = backends.real_devices();
  }

  const StreamOptions& options() const { return options_; }
  uint32_t number() const { return number_; }  // counted from 1 in this process
  /// The queue on the device; `measured`: one that measures times.
  Result<backends::Queue*> vendor_queue(uint32_t backend, bool measured) {
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

  /// When its last launch is expected to end, in nanoseconds of the steady clock.
  std::atomic<uint64_t> expected_end_ns{0};
  /// Launches that joined a train by an earlier one's plan, since one was planned. Of two threads'
  /// launches one may be missed: it is for when to measure.
  std::atomic<uint32_t> unplanned{0};
  void note_unplanned() {
    unplanned.store(unplanned.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Those vendor queues that exist already, on all devices or one.
  std::vector<backends::Queue*> existing_queues() const;
  std::vector<backends::Queue*> existing_queues(uint32_t backend) const;

 private:
  friend class CommandLog;
  friend class Engine;
  static uint32_t next_number();

  BackendSet& backends_;
  StreamOptions options_;  // constant once constructed
  const uint32_t number_ = next_number();
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
    return options_.profiling || !backends_.traits(backend).costly_profiling;
  }

  Mutex mutex_;
  PerBackend<Lanes> devices_;

  // The last lease of the log for its newest train (LogMutex), and that train; changed under the
  // log's lock. 0: its newest command is none that launches may repeat.
  std::atomic<uint64_t> lease_{0};
  std::atomic<Command*> leased_{nullptr};

  // Guarded by the log's lock.
  // In the order of enqueueing; done ones are dropped lazily.
  std::deque<Ref<Command>> outstanding_;
  std::deque<Ref<Command>> host_writers_;  // those that write the application's memory
  Ref<Command> last_;                      // in-order: the newest command
  Ref<Command> barrier_;                   // out-of-order: the newest barrier
  Ref<Command> sampled_;                   // the newest direct command whose own end is measured
  cl_int unseen_error_ = CL_SUCCESS;       // of a command that nobody has an event of
};

}  // namespace tutti::scheduler
