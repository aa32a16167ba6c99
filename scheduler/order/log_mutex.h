// SPDX-License-Identifier: Apache-2.0
// The command log's lock, with a lease for the one who launches the same again and again: as long
// as nobody has taken the lock since, all that it guards is as it was, and its leaseholder may add
// a launch to its train without it. Who takes the lock ends the lease, and finds the train in the
// state that it would have, were each launch added under the lock: submitting, if one is just being
// made, else direct. Thread-safe; nobody waits for a launch that is being made.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_annotations.h"

namespace tutti::scheduler {

class Command;

class TUTTI_CAPABILITY("mutex") LogMutex {
 public:
  void lock() TUTTI_ACQUIRE() TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    if (train_ != nullptr) end_lease();
  }
  void unlock() TUTTI_RELEASE() TUTTI_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

  /// The lease, from when the lock is let go; odd numbers and 0 are no leases.
  uint64_t lease(Command& train) TUTTI_REQUIRES(this) {
    train_ = &train;
    newest_ += 2;
    lease_.store(newest_, std::memory_order_release);
    return newest_;
  }

  // Without the lock, for one launch: enter() is false when the lease has ended, or is in use;
  // leave() when it has ended meanwhile, so that the lock has to be taken.
  bool enter(uint64_t lease) {
    return lease_.compare_exchange_strong(lease, lease | kInUse, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  bool leave(uint64_t lease) {
    uint64_t in_use = lease | kInUse;
    return lease_.compare_exchange_strong(in_use, lease, std::memory_order_release,
                                          std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kInUse = 1;
  void end_lease();

  Mutex mutex_;
  std::atomic<uint64_t> lease_{0};  // 0: there is none
  Command* train_ = nullptr;        // of the lease; guarded by mutex_
  uint64_t newest_ = 0;             // guarded by mutex_
};

}  // namespace tutti::scheduler
