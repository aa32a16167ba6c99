// SPDX-License-Identifier: Apache-2.0
// A virtual command queue as the engine sees it: its unfinished commands, and its vendor queues.
// Reference counted: unfinished commands keep their stream alive. Thread-safe, but for what the
// log's lock guards.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "base/ref_counted.h"
#include "scheduler/devices/device_queues.h"
#include "scheduler/order/node.h"

namespace tutti::scheduler {

struct StreamOptions {
  bool out_of_order = false;
  bool profiling = false;
  BackendMask backends = 0;  // where its kernels may run; 0: the real devices
  backends::QueueHints hints{};
  std::shared_ptr<void> keeps{};  // for as long as it has commands, and queues
};

class Stream final : public RefCounted {
 public:
  Stream(BackendSet& backends, StreamOptions options)
      : keeps(std::move(options.keeps)),
        queues(backends, options.profiling, options.hints),
        options_(std::move(options)) {
    if (options_.backends == 0) options_.backends = backends.real_devices();
  }

  const StreamOptions& options() const { return options_; }
  uint32_t number() const { return number_; }  // counted from 1 in this process

  const std::shared_ptr<void> keeps;  // first, so that it outlives the queues
  DeviceQueues queues;

  /// When its last launch is expected to end, in nanoseconds of the steady clock.
  std::atomic<uint64_t> expected_end_ns{0};
  /// The device of its last launch; kNoBackend: none, or several.
  std::atomic<uint32_t> last_backend{kNoBackend};
  /// Until when its order holds back a new launch, as far as is expected; 0: it does not.
  uint64_t held_until_ns() const {
    // Elsewhere the data say it.
    const bool strict = options_.profiling && !options_.out_of_order;
    return strict ? expected_end_ns.load(std::memory_order_relaxed) : 0;
  }

  // The last lease of the log for its newest batch (LogMutex), and that batch; changed under the
  // log's lock. 0: its newest command is none that launches may repeat.
  std::atomic<uint64_t> lease{0};
  std::atomic<Node*> leased{nullptr};

  // Guarded by the log's lock.
  std::deque<Ref<Node>> outstanding;   // in the order of enqueueing; done ones are dropped lazily
  std::deque<Ref<Node>> host_writers;  // those that write the application's memory
  Ref<Node> last;                      // the newest command
  Ref<Node> barrier;                   // out-of-order: the newest barrier
  bool barrier_gathers = false;        // it waits for all before it
  Ref<Node> sampled;                   // the newest direct command whose own end is measured
  cl_int unseen_error = CL_SUCCESS;    // of a command that nobody has an event of

 private:
  static uint32_t next_number() {
    static std::atomic<uint32_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  StreamOptions options_;  // constant once constructed
  const uint32_t number_ = next_number();
};

}  // namespace tutti::scheduler
