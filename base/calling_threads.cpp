// SPDX-License-Identifier: Apache-2.0
#include "base/calling_threads.h"

#include <pthread.h>

#include <optional>

#include "base/keep_forever.h"
#include "base/process_exit.h"
#include "base/thread_annotations.h"

namespace tutti {

namespace calling_threads_detail {
thread_local constinit bool known [[gnu::tls_model("initial-exec")]] = false;
std::atomic<uint64_t> epoch{0};
}  // namespace calling_threads_detail

namespace {

struct Callers {
  Mutex mutex;
  size_t count TUTTI_GUARDED_BY(mutex) = 0;
  std::optional<sigset_t> blocked TUTTI_GUARDED_BY(mutex);  // by the last that came
};

// Never destroyed: threads come and go while the process ends.
Callers& callers() {
  static NeverDestroyed<Callers> all;
  return *all;
}

std::atomic<void (*)()> calling_threads_hook{nullptr};

thread_local bool is_own_thread = false;

void tell_hook() {
  if (auto* const hook = calling_threads_hook.load(std::memory_order_acquire)) hook();
}

// The destructor of thread-specific data, not of a thread_local object: those of the application
// run before it, and may still call in, and it does not run when the process exits.
void leave_for_good(void*) {
  calling_threads_detail::known = false;  // who calls in after this counts anew
  if (vendors_gone()) return;
  {
    Callers& all = callers();
    const MutexLock lock(all.mutex);
    if (--all.count > 0) return;
    calling_threads_detail::epoch.fetch_add(1, std::memory_order_acq_rel);
  }
  tell_hook();
}

}  // namespace

void calling_threads_detail::arrive() noexcept {
  known = true;
  static const std::optional<pthread_key_t> key = []() -> std::optional<pthread_key_t> {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, leave_for_good) != 0) return std::nullopt;
    return made;
  }();
  // Who cannot be seen to go does not count. Without a key the application is there for good.
  if (vendors_gone()) return;
  if (key && pthread_setspecific(*key, &known) != 0) return;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  {
    Callers& all = callers();
    const MutexLock lock(all.mutex);
    all.blocked = blocked;
    if (all.count++ > 0) return;
    calling_threads_detail::epoch.fetch_add(1, std::memory_order_acq_rel);
  }
  tell_hook();
}

void note_own_thread() noexcept { calling_threads_detail::known = is_own_thread = true; }

ApplicationSignals::ApplicationSignals() {
  if (!is_own_thread) return;
  std::optional<sigset_t> blocked;
  {
    Callers& all = callers();
    const MutexLock lock(all.mutex);
    blocked = all.blocked;
  }
  if (blocked) mask_.emplace(*blocked);
}

void set_calling_threads_hook(void (*hook)()) noexcept {
  calling_threads_hook.store(hook, std::memory_order_release);
}

}  // namespace tutti
