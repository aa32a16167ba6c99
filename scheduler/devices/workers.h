// SPDX-License-Identifier: Apache-2.0
// The engine's threads, and the barrier that no exception of a task passes. What a task needs to
// come to its end it has (base/memory_reserve.h). They sleep when idle;
// each runs its tasks in order and is started by its first one. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/memory_reserve.h"
#include "base/task_thread.h"
#include "scheduler/devices/place.h"

namespace tutti::scheduler {

class Worker {
 public:
  explicit Worker(std::string name) : thread_(std::move(name)) {}

  /// Where the task throws, or there is no thread for it, `failed` hears why (as guarded() says);
  /// in the latter case now, in the calling thread.
  template <typename Task, typename Failed>
  void post(Task task, Failed failed) {
    const MemoryReserved reserved;
    const Status posted = guarded([&] {
      thread_.post([task = std::move(task), failed]() mutable {
        const MemoryReserved kept;
        if (const Status done = guarded(task); !done) failed(done.error());
      });
    });
    if (!posted) failed(posted.error());
  }
  /// The same, but where there is no thread for it, the task runs now, in the calling thread.
  template <typename Task, typename Failed>
  void post_or_run(Task task, Failed failed) {
    const MemoryReserved reserved;
    auto run = [task = std::move(task), failed = std::move(failed)]() mutable {
      const MemoryReserved kept;
      if (const Status done = guarded(task); !done) failed(done.error());
    };
    std::function<void()> posted;
    if (!guarded([&] { posted = std::move(run); })) return run();
    if (!guarded([&] { thread_.post(std::move(posted)); })) posted();
  }
  /// It has nothing to do at the moment.
  bool idle() { return thread_.idle(); }
  /// A task that only makes something faster: without it all goes on.
  template <typename Task>
  void post_hint(Task task) {
    post(std::move(task), [](const Error&) {});
  }

 private:
  TaskThread thread_;
};

class Workers {
 public:
  Workers();

  Worker& conductor() { return conductor_; }
  /// What is neither kernel nor the application's own function.
  Worker& host() { return host_; }
  /// The application's own functions, however long.
  Worker& native() { return native_; }
  /// Commands that wait for room in a device's memory.
  Worker& memory() { return memory_; }
  /// An application's callback with what it is to hear, in a thread for that alone.
  void call_back(std::function<void(cl_int)> callback, cl_int status);
  /// The same in the calling thread.
  static void call_back_here(const std::function<void(cl_int)>& callback, cl_int status);
  Worker& device(uint32_t backend) { return *devices_[backend]; }
  /// What is sent to a place (scheduler/devices/place.h) before anybody asks for it.
  Worker& prefetch(Place place) { return *prefetches_[place]; }

 private:
  Worker conductor_{"tutti-conductor"};
  Worker host_{"tutti-host"};
  Worker native_{"tutti-native"};
  Worker memory_{"tutti-memory"};
  Worker callbacks_{"tutti-callback"};
  std::vector<std::unique_ptr<Worker>> devices_;     // one per backend that may be
  std::vector<std::unique_ptr<Worker>> prefetches_;  // one per place
};

}  // namespace tutti::scheduler
