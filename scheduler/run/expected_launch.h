// SPDX-License-Identifier: Apache-2.0
// What is expected of a launch that is about to be given to its devices, noted where others look.
#pragma once

#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

inline void expect(Planner& planner, Node& command, Stream& stream, const KernelPlan& plan) {
  command.expected = planner.begin(std::get<KernelWork>(command.work), plan);
  if (command.expected.devices == 0) return;
  stream.expected_end_ns.store(command.expected.end_ns, std::memory_order_relaxed);
}

}  // namespace tutti::scheduler
