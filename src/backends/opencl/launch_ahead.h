// SPDX-License-Identifier: Apache-2.0
// Runs of small launches on one vendor queue. Where the vendor's call takes longer than all else
// that a launch costs, a thread of the device's makes the calls, and the enqueuing thread goes on:
// the vendor then gets launches as fast as from an application that calls it directly. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "backends/api/backend.h"
#include "platform/handover.h"

namespace tutti::backends {

struct VendorDevice;

/// Finds out whether the vendor's calls of a run of launches are worth another thread. One launch
/// in kStep is measured. count() and step() by one thread at a time, the others by any.
class BurstMeter {
 public:
  static constexpr uint32_t kStep = 16;
  static constexpr uint32_t kWarm = 48;            // launches in a row before a thread is woken
  static constexpr uint64_t kWorthAThread = 1000;  // ns of a call

  /// A launch comes. True: it is to be measured.
  bool count() { return run_.fetch_add(1, std::memory_order_relaxed) % kStep == kStep - 1; }
  /// The measured launch begins.
  void step(uint64_t now_ns);
  /// The time until the next step tells nothing.
  void skip() { last_ns_ = 0; }
  /// So long a vendor's call took.
  void call_took(uint64_t ns);
  /// Something else was done with the queue: the run is over.
  void interrupt() { run_.store(0, std::memory_order_relaxed); }
  bool worth_it() const { return worth_it_ && run_.load(std::memory_order_relaxed) >= kWarm; }

 private:
  std::atomic<uint32_t> run_{0};
  std::atomic<uint64_t> call_ns_{0};  // of late; 0: not known
  uint64_t last_ns_ = 0;              // of the step before
  bool worth_it_ = false;
};

class LaunchAhead {
 public:
  LaunchAhead(const VendorDevice& device, cl_command_queue queue);

  /// What became of a launch that nobody observes, and that waits for nothing.
  struct Answer {
    bool taken = false;     // it will be made; false: the caller makes it, after catch_up()
    bool measured = false;  // and says how long the call took
  };
  Answer take(const Launch& launch, const std::shared_ptr<void>& keep);
  /// The vendor has accepted such a launch: others like it may be handed over, since the
  /// application need not hear at once what the vendor says of them. `ns`: of the call, 0 if it
  /// was not measured.
  void accepted(const Launch& launch, uint64_t ns);
  /// Everything taken before has been given to the vendor when this returns.
  void catch_up();
  /// The same, for a call that ends the run.
  void settle() {
    meter_.interrupt();
    catch_up();
  }
  /// The error of a launch that was taken and that the vendor refused: once.
  cl_int take_failure() {
    if (failure_.load(std::memory_order_relaxed) == CL_SUCCESS) return CL_SUCCESS;
    return failure_.exchange(CL_SUCCESS, std::memory_order_acq_rel);
  }

 private:
  struct Pending {
    Launch launch;
    std::vector<Argument> arguments;
    std::vector<std::byte> bytes;  // of the arguments
    bool measured = false;
  };
  // What the vendor may refuse a launch for.
  struct Kind {
    uint64_t kernel = 0;  // its number
    std::optional<std::array<size_t, 3>> local;
    uint64_t local_bytes = 0;  // of arguments
    bool operator==(const Kind&) const = default;
  };
  static Kind kind_of(const Launch& launch);
  static void copy(const Launch& launch, bool measured, Pending& to);
  void make(const Pending& pending);

  const VendorDevice& device_;
  const cl_command_queue queue_;
  const bool possible_;
  BurstMeter meter_;
  std::atomic<cl_int> failure_{CL_SUCCESS};
  Handover<Pending, 256> handover_;
  Mutex mutex_;                                         // held while a launch is taken
  std::array<Kind, 8> known_ TUTTI_GUARDED_BY(mutex_);  // accepted of late
  size_t next_known_ TUTTI_GUARDED_BY(mutex_) = 0;
};

/// Sets the arguments that changed and launches, under the kernel's lock. `event` may be null.
Status enqueue_launch(const VendorDevice& device, cl_command_queue queue, const Launch& launch,
                      cl_uint wait_count, const cl_event* wait, cl_event* event);

}  // namespace tutti::backends
