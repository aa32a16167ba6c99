// SPDX-License-Identifier: Apache-2.0
// The command log's lock, with a lease for the one who launches the same again and again: as long
// as nobody has taken the lock since, all that it guards is as it was, and its leaseholder may add
// a launch to its batch without it. Who takes the lock ends the lease, and finds the batch in the
// state that it would have, were each launch added under the lock: submitting, if one is just being
// made, else direct. Thread-safe; nobody waits for a launch that is being made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ref_counted.h"
#include "base/thread_annotations.h"

namespace tutti::scheduler {

struct Node;

class TUTTI_CAPABILITY("mutex") LogMutex {
 public:
  /// `reopen` makes a batch submitting again, for a launch that is being made as the lease ends.
  explicit LogMutex(void (*reopen)(Node& batch)) : reopen_(reopen) {}

  void lock() TUTTI_ACQUIRE() TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    if (batch_ != nullptr) end_lease();
  }
  void unlock() TUTTI_RELEASE() TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    if (retired_.empty()) return mutex_.unlock();
    const Retired gone = std::exchange(retired_, {});
    mutex_.unlock();
  }

  /// For what is guarded by this lock and reached through the lock's owner: its caller holds it.
  void assert_held() const TUTTI_ASSERT_CAPABILITY(this) {}

  /// What the log has no use for any more: it goes when the lock has been let go, since with the
  /// last reference a vendor is called, and a command lets go of all that it holds.
  void retire(Ref<RefCounted> command) TUTTI_REQUIRES(this) {
    keep(retired_.command, retired_.commands, std::move(command));
  }
  void retire(std::shared_ptr<const void> object) TUTTI_REQUIRES(this) {
    keep(retired_.object, retired_.objects, std::move(object));
  }

  /// The lease, from when the lock is let go; odd numbers and 0 are no leases.
  uint64_t lease(Node& batch) TUTTI_REQUIRES(this) {
    batch_ = &batch;
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
  void end_lease() TUTTI_REQUIRES(this);

  // Mostly it is one of a kind at most, which needs no memory.
  struct Retired {
    Ref<RefCounted> command;
    std::shared_ptr<const void> object;
    std::vector<Ref<RefCounted>> commands;
    std::vector<std::shared_ptr<const void>> objects;
    bool empty() const { return !command && !object; }
  };
  template <typename T>
  static void keep(T& first, std::vector<T>& others, T next) {
    if (first) others.push_back(std::move(first));
    first = std::move(next);
  }

  void (*const reopen_)(Node& batch);
  Mutex mutex_;
  std::atomic<uint64_t> lease_{0};                // 0: there is none
  Node* batch_ TUTTI_GUARDED_BY(this) = nullptr;  // of the lease
  uint64_t newest_ TUTTI_GUARDED_BY(this) = 0;
  Retired retired_ TUTTI_GUARDED_BY(this);
};

}  // namespace tutti::scheduler
