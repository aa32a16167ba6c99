// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/background.h"
#include "base/thread_annotations.h"

#include <unistd.h>

#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

namespace tutti::device_virtual {
namespace {

struct Background {
  Mutex mutex;
  ConditionVariable idle;
  size_t working TUTTI_GUARDED_BY(mutex) = 0;
  pid_t process = getpid();

  void begin() {
    const MutexLock lock(mutex);
    ++working;
  }
  void end() {
    const MutexLock lock(mutex);
    if (--working == 0) idle.notify_all();
  }
  void wait_until_idle() {
    if (process != getpid()) return;  // a forked child has the count, but not the threads
    const MutexLock lock(mutex);
    while (working != 0) idle.wait(mutex);
  }
};

Background& background() {
  // Never destroyed: threads use it during exit. The handler is registered after the vendors'
  // (their libraries are loaded by then), so it runs before them.
  static Background& instance = []() -> Background& {
    auto* made = new Background;
    std::atexit([] { background().wait_until_idle(); });
    return *made;
  }();
  return instance;
}

}  // namespace

Status run_in_background(std::function<void()> work, std::function<void()> after) {
  Background& state = background();
  state.begin();
  try {
    std::thread([&state, work = std::move(work), after = std::move(after)]() mutable {
      work();
      work = nullptr;
      state.end();
      after();
    }).detach();
  } catch (const std::system_error&) {
    state.end();
    return fail(CL_OUT_OF_HOST_MEMORY, "no thread could be started");
  } catch (...) {
    state.end();
    throw;
  }
  return {};
}

}  // namespace tutti::device_virtual
