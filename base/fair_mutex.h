// SPDX-License-Identifier: Apache-2.0
// A lock that threads get in the order in which they asked. Where one thread takes a lock again as
// soon as it has let it go, and holds it for long, others would hardly ever get a plain mutex.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_annotations.h"

namespace tutti {

class TUTTI_CAPABILITY("mutex") FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void lock() TUTTI_ACQUIRE() {
    const uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      const uint32_t now = serving_.load(std::memory_order_acquire);
      if (now == mine) return;
      serving_.wait(now, std::memory_order_acquire);
    }
  }
  void unlock() TUTTI_RELEASE() {
    serving_.fetch_add(1, std::memory_order_release);
    serving_.notify_all();
  }
  /// Whether a thread holds it and another one waits.
  bool contended() const {
    return next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) > 1;
  }

 private:
  std::atomic<uint32_t> next_{0};     // the ticket of who asks next
  std::atomic<uint32_t> serving_{0};  // the ticket of who has it
};

/// Holds a FairMutex for a scope, or nothing where there is none. No data is guarded by what may
/// not be there, so the analysis looks away.
class FairTurn {
 public:
  explicit FairTurn(FairMutex* mutex) TUTTI_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~FairTurn() { unlock(); }
  FairTurn(const FairTurn&) = delete;
  FairTurn& operator=(const FairTurn&) = delete;

  void unlock() TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    if (mutex_ != nullptr) mutex_->unlock();
    mutex_ = nullptr;
  }

 private:
  FairMutex* mutex_;
};

}  // namespace tutti
