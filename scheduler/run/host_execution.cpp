// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/host_execution.h"

#include <utility>

#include "scheduler/observe/run_trace.h"
#include "scheduler/run/early_read.h"

namespace tutti::scheduler {

std::shared_ptr<EarlyRead> HostExecution::take_early(Node& command) {
  MutexLock lock(log_.mutex());
  return std::exchange(command.early, nullptr);
}

void HostExecution::stop_early(Node& command) {
  if (const auto early = take_early(command)) static_cast<void>(early->finish());
}

Status HostExecution::execute(Node& command) {
  const HostScope scope(command.trace.get());
  const auto* read = std::get_if<ReadWork>(&command.work);
  const auto* map = std::get_if<MapWork>(&command.work);
  const auto* rect = std::get_if<RectWork>(&command.work);
  if ((read || map || rect) && backends_.count() > 1) {
    const auto early = take_early(command);
    if (early && read) return executor_.read_rest(*read, early->finish());
    if (early && rect) return executor_.read_rest(*rect, early->finish());
    if (early) static_cast<void>(early->finish());  // what it fetched is valid in the host's copy
  }
  return executor_.execute(command.work);
}

}  // namespace tutti::scheduler
