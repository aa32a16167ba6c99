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

std::unique_ptr<TaskThread> BoundedCalls::take_thread() {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto thread = std::move(idle_.back());
      idle_.pop_back();
      return thread;
    }
  }
  return std::make_unique<TaskThread>("tutti-wait", TaskThread::AtExit::kLeftAlone);
}

bool BoundedCalls::await(const char* name, std::function<void()> call) {
  if (hangs()) return false;
  auto thread = take_thread();
  auto done = std::make_shared<bool>(false);  // under the mutex
  thread->post([this, done, call = std::move(call)]() mutable {
    static_cast<void>(guarded(call));
    call = nullptr;
    const MutexLock lock(mutex_);
    *done = true;
    changed_.notify_all();
  });
  const uint64_t until = now_ns() + deadline_ns_;
  {
    const MutexLock lock(mutex_);
    while (!*done && !hangs()) {
      const uint64_t now = now_ns();
      if (now >= until) break;
      changed_.wait_for(mutex_, static_cast<unsigned>((until - now) / 1'000'000 + 1));
    }
    if (*done) {
      idle_.push_back(std::move(thread));
      return true;
    }
    hanging_.push_back(std::move(thread));
    if (hangs_.exchange(true, std::memory_order_acq_rel)) return false;
    changed_.notify_all();  // nobody need wait for it
  }
  log(LogLevel::kWarning,
      "{} hangs: {} has not ended within {} s (TUTTI_DEADLINE); it takes no part any more", device_,
      name, static_cast<double>(deadline_ns_) * 1e-9);
  return false;
}

}  // namespace tutti::backends
