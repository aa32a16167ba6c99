// SPDX-License-Identifier: Apache-2.0
// Executes a started command that is no kernel in the calling thread: all of it, or what a read
// that has begun early has left. Thread-safe.
#pragma once

#include "scheduler/order/command_log.h"
#include "scheduler/run/executor.h"

namespace tutti::scheduler {

class HostExecution {
 public:
  HostExecution(BackendSet& backends, CommandLog& log, Executor& executor)
      : backends_(backends), log_(log), executor_(executor) {}

  Status execute(Node& command);
  /// It will not be executed: what it has begun to read ends first, into memory that may go then.
  void stop_early(Node& command);

 private:
  /// What the command has begun to read, which it does no more know; null: nothing.
  std::shared_ptr<EarlyRead> take_early(Node& command) TUTTI_EXCLUDES(log_.mutex());

  BackendSet& backends_;
  CommandLog& log_;
  Executor& executor_;
};

}  // namespace tutti::scheduler
