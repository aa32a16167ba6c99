// SPDX-License-Identifier: Apache-2.0
// Locks that Clang checks at compile time (-Wthread-safety): say TUTTI_GUARDED_BY(mutex_) beside
// the data and the compiler refuses access without the lock. Under other compilers the macros
// vanish. The classes are thread-safe; a MutexLock belongs to the scope that made it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TUTTI_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TUTTI_THREAD_ATTRIBUTE(x)
#endif

#define TUTTI_CAPABILITY(x) TUTTI_THREAD_ATTRIBUTE(capability(x))
#define TUTTI_SCOPED_CAPABILITY TUTTI_THREAD_ATTRIBUTE(scoped_lockable)
#define TUTTI_GUARDED_BY(x) TUTTI_THREAD_ATTRIBUTE(guarded_by(x))
#define TUTTI_PT_GUARDED_BY(x) TUTTI_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define TUTTI_REQUIRES(...) TUTTI_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TUTTI_ACQUIRE(...) TUTTI_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TUTTI_TRY_ACQUIRE(...) TUTTI_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define TUTTI_RELEASE(...) TUTTI_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TUTTI_EXCLUDES(...) TUTTI_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define TUTTI_ASSERT_CAPABILITY(x) TUTTI_THREAD_ATTRIBUTE(assert_capability(x))
#define TUTTI_RETURN_CAPABILITY(x) TUTTI_THREAD_ATTRIBUTE(lock_returned(x))
#define TUTTI_NO_THREAD_SAFETY_ANALYSIS TUTTI_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace tutti {

class ConditionVariable;

/// A std::mutex that the analysis knows.
class TUTTI_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() TUTTI_ACQUIRE() { mutex_.lock(); }
  void unlock() TUTTI_RELEASE() { mutex_.unlock(); }
  bool try_lock() TUTTI_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

/// Holds a Mutex, or what is locked like one, for a scope; may be let go and taken again in
/// between.
template <typename AnyMutex = Mutex>
class TUTTI_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(AnyMutex& mutex) TUTTI_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TUTTI_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() TUTTI_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() TUTTI_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  AnyMutex& mutex_;
  bool held_ = true;
};

/// Waits on a Mutex that the caller holds; it is held again when wait() returns.
class ConditionVariable {
 public:
  void wait(Mutex& mutex) TUTTI_REQUIRES(mutex) {
    std::unique_lock<std::mutex> adopted(mutex.mutex_, std::adopt_lock);
    condition_.wait(adopted);
    adopted.release();
  }
  /// `ready` runs under the mutex, and says that it needs it: in here the analysis does not know
  /// that both are the same.
  template <typename Predicate>
  void wait(Mutex& mutex, Predicate ready) TUTTI_REQUIRES(mutex) TUTTI_NO_THREAD_SAFETY_ANALYSIS {
    while (!ready()) wait(mutex);
  }
  /// As wait(mutex), but gives up after so many milliseconds.
  void wait_for(Mutex& mutex, unsigned milliseconds) TUTTI_REQUIRES(mutex) {
    std::unique_lock<std::mutex> adopted(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(adopted, std::chrono::milliseconds(milliseconds));
    adopted.release();
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace tutti
