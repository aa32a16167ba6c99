// SPDX-License-Identifier: Apache-2.0
// Threads that sleep when idle: each runs its tasks in order. Started at the first task, ended by
// stop(). Thread-safe.
#pragma once

#include <pthread.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/thread_annotations.h"

namespace tutti {

class TaskThread {
 public:
  explicit TaskThread(std::string name) : name_(std::move(name)) {}
  ~TaskThread() { stop(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Tasks posted after stop() are dropped. Throws std::system_error when there is no thread to be
  /// had.
  void post(std::function<void()> task);
  /// Ends the thread after the task that runs now; tasks that have not begun are dropped. Called
  /// from the thread itself it only asks for the end.
  void stop();

 private:
  struct Thread {
    pthread_t id{};
    void* stack = nullptr;
    size_t stack_bytes = 0;
  };

  Thread start();
  void run();

  const std::string name_;  // at most 15 characters, for debuggers
  Mutex mutex_;
  ConditionVariable wake_;
  std::deque<std::function<void()>> tasks_ TUTTI_GUARDED_BY(mutex_);
  std::optional<Thread> thread_ TUTTI_GUARDED_BY(mutex_);
  bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
