// SPDX-License-Identifier: Apache-2.0
// The C library's locks, conditions, threads, futexes and clocks, for a program that is one thread.
// The linker prefers them to the library's own, also for what libstdc++ calls. A mutex's state lies
// in the mutex, in fields of glibc's. What is not here must not be used to wait.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>

#include "threads.h"
#include "threads_parts.h"

using namespace tutti::simulation;

namespace {

long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long result asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
#else
#error "The simulation knows no system calls of this processor."
#endif
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

/// 0: nobody has it; else the number of times.
int& taken(pthread_mutex_t* mutex) { return mutex->__data.__lock; }
/// Whose number it is; a recursive one may have it again.
int& owner(pthread_mutex_t* mutex) { return mutex->__data.__owner; }

int self_number() {
  return static_cast<int>(reinterpret_cast<uintptr_t>(this_thread()) >> 4 & INT_MAX);
}

bool take(pthread_mutex_t* mutex) {
  const bool recursive = (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
  if (taken(mutex) > 0 && !(recursive && owner(mutex) == self_number())) return false;
  ++taken(mutex);
  owner(mutex) = self_number();
  return true;
}

bool give(pthread_mutex_t* mutex) {
  if (--taken(mutex) > 0) return false;
  wake(mutex, INT_MAX);
  return true;
}

void lock(pthread_mutex_t* mutex) {
  while (!take(mutex)) sleep_on(mutex, "a lock");
}

uint64_t time_of(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, uint64_t until_ns) {
  give(mutex);
  const bool woken = sleep_on(condition, "a condition", until_ns);
  lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

Thread* thread_of(pthread_t id) { return reinterpret_cast<Thread*>(id); }

}  // namespace

// For shared libraries, too.
#pragma GCC visibility push(default)
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  step();
  lock(mutex);
  return 0;
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  step();
  return take(mutex) ? 0 : EBUSY;
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (give(mutex)) step();
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_on(condition, mutex, 0);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t,
                           const timespec* until) {
  return wait_on(condition, mutex, time_of(*until));
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  return wait_on(condition, mutex, time_of(*until));
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  wake(condition, 1);
  step();
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  wake(condition, INT_MAX);
  step();
  return 0;
}

int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*main)(void*),
                   void* argument) noexcept {
  void* stack = nullptr;
  size_t bytes = 0;
  if (attributes != nullptr) pthread_attr_getstack(attributes, &stack, &bytes);
  if (bytes == 0) stack = nullptr;
  // glibc says where the stack ends, also where none was given.
  if (stack == reinterpret_cast<void*>(-bytes)) stack = nullptr;
  Thread* const thread = start_thread(stack, bytes, main, argument);
  if (thread == nullptr) return EAGAIN;
  *id = reinterpret_cast<pthread_t>(thread);
  step();
  return 0;
}
int pthread_join(pthread_t id, void** result) {
  void* const ended = join_thread(thread_of(id));
  if (result != nullptr) *result = ended;
  return 0;
}
int pthread_detach(pthread_t id) noexcept {
  detach_thread(thread_of(id));
  return 0;
}
pthread_t pthread_self() noexcept { return reinterpret_cast<pthread_t>(this_thread()); }
int pthread_setname_np(pthread_t id, const char* name) noexcept {
  if (id != 0) name_thread(thread_of(id), name);
  return 0;
}
int pthread_sigmask(int, const sigset_t*, sigset_t* before) noexcept {
  if (before != nullptr) sigemptyset(before);
  return 0;
}

int sched_yield() noexcept {
  yield_to_others();
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!running()) {
    return static_cast<int>(
        kernel(SYS_clock_gettime, clock, static_cast<long>(reinterpret_cast<uintptr_t>(time))));
  }
  const uint64_t ns = clock_ns();
  time->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}

/// For std::atomic's waits, and what libstdc++ waits with.
long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long),
             d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (number != SYS_futex || !running()) return kernel(number, a, b, c, d, e, f);
  const auto* word = reinterpret_cast<const int*>(a);
  switch (static_cast<int>(b) & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      step();
      if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<int>(c)) {
        errno = EAGAIN;
        return -1;
      }
      sleep_on(word, "an atomic");
      return 0;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      const int woken = wake(word, static_cast<int>(c));
      step();
      return woken;
    }
    default:
      return kernel(number, a, b, c, d, e, f);
  }
}

}  // extern "C"
#pragma GCC visibility pop
