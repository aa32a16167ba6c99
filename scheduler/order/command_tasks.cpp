// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/command_tasks.h"

#include "base/log.h"

namespace tutti::scheduler {

void CommandTasks::fail(const Ref<Node>& command, const Error& why) {
  tutti::log(level_without_vendors(LogLevel::kError), "a command fails: {}",
             why.message.empty() ? "out of memory" : why.message);
  log_.finish(command, why.code);
}

}  // namespace tutti::scheduler
