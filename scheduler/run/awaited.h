// SPDX-License-Identifier: Apache-2.0
// What a command waits for, for the trace.
#pragma once

#include <span>

#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_log.h"

namespace tutti::scheduler {

/// `edges`, and what the application named, though it may have ended.
inline Awaited awaited(std::span<const Edge> edges, std::span<Command* const> wait_list = {}) {
  Awaited found;
  for (Command* before : wait_list) found.add(node_of(*before).trace.get(), Waits::kNamed);
  for (const Edge& edge : edges) found.add(edge.command->trace.get(), edge.waits);
  return found;
}

}  // namespace tutti::scheduler
