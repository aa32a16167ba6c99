// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/background.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/keep_forever.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/workers.h"

namespace tutti::device_virtual {
namespace {

using scheduler::Worker;

struct Background {
  Mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle_workers TUTTI_GUARDED_BY(mutex);
  size_t made TUTTI_GUARDED_BY(mutex) = 0;  // workers

  /// A thread for it alone.
  std::unique_ptr<Worker> begin() {
    std::unique_ptr<Worker> worker;
    const MutexLock lock(mutex);
    if (idle_workers.empty()) {
      worker = std::make_unique<Worker>("tutti-builds");
      idle_workers.reserve(++made);  // so that it can always be given back
    } else {
      worker = std::move(idle_workers.back());
      idle_workers.pop_back();
    }
    return worker;
  }
  void give_back(std::unique_ptr<Worker> worker) {
    const MutexLock lock(mutex);
    idle_workers.push_back(std::move(worker));
  }
};

Background& background() {
  static NeverDestroyed<Background> all;  // threads use it during exit
  return *all;
}

}  // namespace

Status run_in_background(std::function<void()> work, std::function<void()> after) {
  Background& state = background();
  Worker* const worker = state.begin().release();  // its own task gives it back
  Status started;
  auto task = [&state, worker, work = std::move(work), after = std::move(after)]() mutable {
    static_cast<void>(guarded(work));
    work = nullptr;
    static_cast<void>(guarded(after));
    after = nullptr;
    state.give_back(std::unique_ptr<Worker>(worker));
  };
  // Here and now, if ever: what the task does throws nothing.
  worker->post(std::move(task),
               [&started](const Error& why) { started = fail(why.code, why.message); });
  if (!started) state.give_back(std::unique_ptr<Worker>(worker));
  return started;
}

}  // namespace tutti::device_virtual
