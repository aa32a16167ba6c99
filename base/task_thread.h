// SPDX-License-Identifier: Apache-2.0
// Threads that sleep when idle: each runs its tasks in order. Started at the first task, ended by
// stop(), and, when they have nothing to do, where the application's threads have all gone; the
// next task starts them anew. Where tasks come one shortly after the other a thread stays awake for
// the next one: to wake it takes longer than many a task. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/own_thread.h"
#include "base/thread_annotations.h"

namespace tutti {

class TaskThread {
 public:
  /// Whether the process's exit waits for a task that runs, as ExitHold says.
  enum class AtExit { kWaitedFor, kLeftAlone };

  explicit TaskThread(std::string name, AtExit at_exit = AtExit::kWaitedFor);
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Tasks posted after stop() are dropped. Throws std::system_error when there is no thread to be
  /// had; then the task is as it was.
  void post(std::function<void()>&& task);
  /// The same for what need not be done while the application has no threads: then it waits until
  /// one comes.
  void post_for_application(std::function<void()> task);
  /// It has nothing to do at the moment.
  bool idle();
  /// Ends the thread after the task that runs now; tasks that have not begun are dropped. Called
  /// from the thread itself it only asks for the end.
  void stop();

 private:
  static void look_at_application();  // when its threads have come or gone

  void application_changed(bool gone);
  void add(std::function<void()>&& task) TUTTI_REQUIRES(mutex_);
  void run();
  void await_next();

  const std::string name_;  // at most 15 characters, for debuggers
  const AtExit at_exit_;
  Mutex mutex_;
  ConditionVariable wake_;
  std::deque<std::function<void()>> tasks_ TUTTI_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> for_application_ TUTTI_GUARDED_BY(mutex_);  // these wait for it
  std::optional<OwnThread> thread_ TUTTI_GUARDED_BY(mutex_);
  bool running_ TUTTI_GUARDED_BY(mutex_) = false;  // a task
  std::atomic<bool> wanted_{false};  // there is something to do: looked at without the lock
  bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
