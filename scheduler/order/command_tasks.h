// SPDX-License-Identifier: Apache-2.0
// Tasks of commands: where one throws, or there is no thread for it, its command fails, and the
// process goes on. Thread-safe.
#pragma once

#include <utility>

#include "base/guarded.h"
#include "scheduler/devices/workers.h"
#include "scheduler/order/command_log.h"

namespace tutti::scheduler {

class CommandTasks {
 public:
  explicit CommandTasks(CommandLog& log) : log_(log) {}

  template <typename Task>
  void post(Worker& worker, const Ref<Node>& command, Task task) {
    worker.post(std::move(task), [this, command](const Error& why) { fail(command, why); });
  }
  /// The same, but where there is no thread for it, the task runs now, in the calling thread.
  template <typename Task>
  void post_or_run(Worker& worker, const Ref<Node>& command, Task task) {
    worker.post_or_run(std::move(task), [this, command](const Error& why) { fail(command, why); });
  }
  /// In the calling thread. False: the command has failed.
  template <typename Task>
  bool run(const Ref<Node>& command, Task task) {
    const Status done = guarded(task);
    if (!done) fail(command, done.error());
    return done.has_value();
  }

 private:
  void fail(const Ref<Node>& command, const Error& why);

  CommandLog& log_;
};

}  // namespace tutti::scheduler
