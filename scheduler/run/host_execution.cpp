// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/host_execution.h"

#include "scheduler/observe/run_trace.h"
#include "scheduler/run/early_read.h"

namespace tutti::scheduler {

void HostExecution::stop_early(Node& command) {
  std::shared_ptr<EarlyRead> early;
  {
    MutexLock lock(log_.mutex());
    early.swap(command.early);
  }
  if (early) static_cast<void>(early->finish());
}

Status HostExecution::execute(Node& command) {
  const HostScope scope(command.trace.get());
  const auto* read = std::get_if<ReadWork>(&command.work);
  const auto* map = std::get_if<MapWork>(&command.work);
  const auto* rect = std::get_if<RectWork>(&command.work);
  if ((read || map || rect) && backends_.count() > 1) {
    std::shared_ptr<EarlyRead> early;
    {
      MutexLock lock(log_.mutex());
      early.swap(command.early);
    }
    if (early && read) return executor_.read_rest(*read, early->finish());
    if (early && rect) return executor_.read_rest(*rect, early->finish());
    if (early) static_cast<void>(early->finish());  // what it fetched is valid in the host's copy
  }
  return executor_.execute(command.work);
}

}  // namespace tutti::scheduler
