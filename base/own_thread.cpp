// SPDX-License-Identifier: Apache-2.0
#include "base/own_thread.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/calling_threads.h"
#include "base/guarded.h"
#include "base/keep_forever.h"
#include "base/thread_annotations.h"
#include "base/thread_signals.h"

namespace tutti {
namespace {

struct Threads {
  Mutex mutex;  // a leaf
  ConditionVariable changed;
  size_t working TUTTI_GUARDED_BY(mutex) = 0;  // started, and neither joined nor ended
  size_t standing_in TUTTI_GUARDED_BY(mutex) = 0;
  std::vector<OwnThread> ended TUTTI_GUARDED_BY(mutex);  // to be joined by who stands in

  /// Whoever ends finds room for its end, and so does one more.
  void make_room() TUTTI_REQUIRES(mutex) {
    ended.reserve(ended.size() + working + standing_in + 1);
  }
};

// Never destroyed: threads end while the process does.
Threads& own_threads() {
  static NeverDestroyed<Threads> all;
  return *all;
}

size_t default_stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

void require_thread(int code) {
  if (code != 0) throw std::system_error(code, std::generic_category(), "starting a thread");
}

// The stack is ours, not glibc's: a forked child counts the stacks of all threads as free, and
// unmaps what exceeds 40 MB of them. A vendor's exit handler that then joins its own thread in the
// child (Mesa's does) would crash, because of our threads.
OwnThread start_thread(void* (*main)(void*), void* argument) {
  const auto guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  OwnThread thread;
  thread.stack_bytes = default_stack_bytes() + guard;
  thread.stack = mmap(nullptr, thread.stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (thread.stack == MAP_FAILED) require_thread(errno);
  mprotect(thread.stack, guard, PROT_NONE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, static_cast<char*>(thread.stack) + guard,
                        thread.stack_bytes - guard);
  const int code = pthread_create(&thread.id, &attributes, main, argument);
  pthread_attr_destroy(&attributes);
  if (code != 0) munmap(thread.stack, thread.stack_bytes);
  require_thread(code);
  return thread;
}

void join_thread(const OwnThread& thread) {
  // Who has ended last exits the process, and is still on its stack then.
  if (pthread_join(thread.id, nullptr) != 0) return;
  munmap(thread.stack, thread.stack_bytes);
}

// With no lock held: at its end a thread destroys what the application's callbacks have left there.
void join_ended() {
  Threads& all = own_threads();
  MutexLock lock(all.mutex);
  while (!all.ended.empty()) {
    const OwnThread thread = all.ended.back();
    all.ended.pop_back();  // its room stays
    lock.unlock();
    join_thread(thread);
    lock.lock();
  }
}

void count_ended() {
  Threads& all = own_threads();
  const MutexLock lock(all.mutex);
  --all.working;
  all.changed.notify_all();
}

struct StandIn {
  uint64_t epoch = 0;  // of the application's absence
  OwnThread self;      // set under the threads' lock
};

void* stand_in(void* argument) {
  note_own_thread();
  pthread_setname_np(pthread_self(), "tutti-signals");
  const std::unique_ptr<StandIn> own(static_cast<StandIn*>(argument));
  Threads& all = own_threads();
  OwnThread self;
  {
    const MutexLock lock(all.mutex);
    while (all.working > 0 && application_epoch() == own->epoch) all.changed.wait(all.mutex);
    self = own->self;
  }
  join_ended();
  const MutexLock lock(all.mutex);
  all.ended.push_back(self);
  --all.standing_in;
  return nullptr;
}

}  // namespace

OwnThread start_own_thread(void* (*main)(void*), void* argument) {
  Threads& all = own_threads();
  {
    const MutexLock lock(all.mutex);
    all.make_room();
    ++all.working;
  }
  try {
    const SignalMask blocked(signals_of_the_application());
    return start_thread(main, argument);
  } catch (...) {
    count_ended();
    throw;
  }
}

void start_unseen_thread(void* (*main)(void*), void* argument) {
  const SignalMask blocked(signals_of_the_application());
  start_thread(main, argument);
}

void start_unseen_thread(std::function<void()> main) {
  using Main = std::function<void()>;
  auto owned = std::make_unique<Main>(std::move(main));
  const auto run = [](void* argument) -> void* {
    const std::unique_ptr<Main> task(static_cast<Main*>(argument));
    (*task)();
    return nullptr;
  };
  start_unseen_thread(run, owned.get());
  static_cast<void>(owned.release());
}

void join_own_thread(const OwnThread& thread) {
  if (pthread_equal(thread.id, pthread_self()) != 0) {
    pthread_detach(thread.id);  // it still runs on its stack, which therefore stays
  } else {
    join_thread(thread);
  }
  count_ended();
}

void end_own_thread(const OwnThread& self) {
  Threads& all = own_threads();
  const MutexLock lock(all.mutex);
  all.ended.push_back(self);
  --all.working;
  all.changed.notify_all();
}

void stand_in_for_application() {
  Threads& all = own_threads();
  // Where there is no thread to be had, the process's signals wait until ours have ended.
  static_cast<void>(guarded([&] {
    auto argument = std::make_unique<StandIn>();
    argument->epoch = application_epoch();
    const MutexLock lock(all.mutex);
    if (all.working == 0 || !application_gone()) return;
    all.make_room();
    argument->self = start_thread(stand_in, argument.get());
    static_cast<void>(argument.release());  // the thread's
    ++all.standing_in;
  }));
}

void end_stand_in() {
  Threads& all = own_threads();
  const MutexLock lock(all.mutex);
  all.changed.notify_all();
}

}  // namespace tutti
