// SPDX-License-Identifier: Apache-2.0
#include "backends/process/lane.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>
#include <thread>

#include "base/clock.h"

namespace tutti::backends::process {
namespace {

// Others are awaited that long before their processor is left: to wake a thread takes longer than
// many a call.
constexpr uint64_t kSoonNs = 20'000;

/// Waits while the word is `value`, which another process may change. (std::atomic::wait is for
/// one process.)
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Others that want the processor get it: the other side may be one of them.
template <typename Ready>
bool comes_soon(Ready ready) {
  const uint64_t until = now_ns() + kSoonNs;
  do {
    if (ready()) return true;
    std::this_thread::yield();
  } while (now_ns() < until);
  return ready();
}

/// Locks the mutex before now_ns() is `deadline_ns`; else ETIMEDOUT.
int lock_until(pthread_mutex_t& mutex, uint64_t deadline_ns) {
#ifdef __SANITIZE_THREAD__
  // GCC 12's ThreadSanitizer does not see the call below, nor dead owners in others that give up.
  int code = EBUSY;
  while ((code = pthread_mutex_trylock(&mutex)) == EBUSY && now_ns() < deadline_ns) {
    std::this_thread::yield();
  }
  return code == EBUSY ? ETIMEDOUT : code;
#else
  const timespec until{static_cast<time_t>(deadline_ns / 1'000'000'000),
                       static_cast<long>(deadline_ns % 1'000'000'000)};
  return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
#endif
}

}  // namespace

Lane* make_lane(std::byte* room) {
  auto* const lane = new (room) Lane;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (pthread_mutex_t& mutex : lane->under_way) pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return lane;
}

void post(Lane& lane) {
  // In one order with `asleep`: who falls asleep sees the request, or is seen to be asleep.
  lane.asked.fetch_add(1, std::memory_order_seq_cst);
  if (lane.asleep.load(std::memory_order_seq_cst) != 0) wake(lane.asked);
}

LaneEnd await(Lane& lane, uint64_t deadline_ns) {
  const uint32_t number = lane.asked.load(std::memory_order_relaxed);
  const auto answered = [&] { return lane.answered.load(std::memory_order_acquire) == number; };
  if (comes_soon(answered)) return LaneEnd::kAnswered;
  pthread_mutex_t& mutex = lane.under_way[(number - 1) % 2];
  const int code =
      deadline_ns == UINT64_MAX ? pthread_mutex_lock(&mutex) : lock_until(mutex, deadline_ns);
  if (code == ETIMEDOUT) return answered() ? LaneEnd::kAnswered : LaneEnd::kLate;
  if (code == 0 || code == EOWNERDEAD) pthread_mutex_unlock(&mutex);
  return code == 0 && answered() ? LaneEnd::kAnswered : LaneEnd::kDead;
}

void serve(Lane& lane, const std::function<bool()>& answer) {
  pthread_mutex_lock(&lane.under_way[0]);
  lane.ready.store(1, std::memory_order_release);
  bool soon = false;  // a request came shortly after the one before
  for (uint32_t number = 1;; ++number) {
    const auto asked = [&] { return lane.asked.load(std::memory_order_acquire) == number; };
    const uint64_t idle_ns = now_ns();
    if (!soon || !comes_soon(asked)) {
      lane.asleep.store(1, std::memory_order_seq_cst);
      while (lane.asked.load(std::memory_order_seq_cst) != number) {
        sleep_while(lane.asked, number - 1);
      }
      lane.asleep.store(0, std::memory_order_relaxed);
    }
    soon = now_ns() - idle_ns < kSoonNs;
    if (!answer()) return;
    // It is free: who waited for the answer before has let go of it, and then asked.
    if (pthread_mutex_trylock(&lane.under_way[number % 2]) != 0) return;
    lane.answered.store(number, std::memory_order_release);
    pthread_mutex_unlock(&lane.under_way[(number - 1) % 2]);
  }
}

}  // namespace tutti::backends::process
