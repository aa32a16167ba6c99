// SPDX-License-Identifier: Apache-2.0
#include "backends/bounded/bounded_calls.h"

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log.h"

namespace tutti::backends {

tl::unexpected<Error> BoundedCalls::gone(const char* name) const {
  return fail(CL_DEVICE_NOT_AVAILABLE, device_ + ": " + name + ": the device hangs");
}

void BoundedCalls::drop(std::shared_ptr<void> object) {
  if (!hangs()) return;
  const MutexLock lock(mutex_);
  kept_.push_back(std::move(object));
}

BoundedCalls::Thread BoundedCalls::take_thread() {
  Thread thread;
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) thread.splice(thread.end(), idle_, std::prev(idle_.end()));
  }
  if (thread.empty()) {
    thread.push_back(std::make_unique<TaskThread>("tutti-wait", TaskThread::AtExit::kLeftAlone));
  }
  return thread;
}

bool BoundedCalls::await(const char* name, std::function<void()> call, uint64_t deadline_ns) {
  if (hangs()) return false;
  Thread thread;
  struct State {  // under the mutex
    bool begun = false, done = false, given_up = false;
  };
  std::shared_ptr<State> state;
  const Status posted = guarded([&] {
    thread = take_thread();
    state = std::make_shared<State>();
    thread.front()->post([this, state, call]() mutable {
      {
        const MutexLock lock(mutex_);
        if (state->given_up) return;
        state->begun = true;
      }
      static_cast<void>(guarded(call));
      call = nullptr;
      const MutexLock lock(mutex_);
      state->done = true;
      changed_.notify_all();
    });
  });
  if (!posted) {
    static_cast<void>(guarded(call));
    return true;
  }
  call = nullptr;  // the thread's alone
  const uint64_t until = now_ns() + deadline_ns;
  {
    const MutexLock lock(mutex_);
    while (!state->done && !hangs()) {
      const uint64_t now = now_ns();
      if (now >= until) break;
      changed_.wait_for(mutex_, static_cast<unsigned>((until - now) / 1'000'000 + 1));
    }
    if (state->done) {
      idle_.splice(idle_.end(), thread);
      return true;
    }
    state->given_up = true;  // what has not begun never does
    Thread& next = state->begun ? hanging_ : idle_;
    next.splice(next.end(), thread);
    if (hangs_.exchange(true, std::memory_order_acq_rel)) return false;
    changed_.notify_all();  // nobody need wait for it
  }
  log(LogLevel::kWarning,
      "{} hangs: {} has not ended within {} s (TUTTI_DEADLINE); it takes no part any more", device_,
      name, static_cast<double>(deadline_ns) * 1e-9);
  return false;
}

}  // namespace tutti::backends
