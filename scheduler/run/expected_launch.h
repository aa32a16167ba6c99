// SPDX-License-Identifier: Apache-2.0
// A launch that is about to be given to its devices: its plan, and what is expected of it, noted
// where others look.
#pragma once

#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

/// The plan of a launch whose turn has come in the stream. `content`: kThere where it begins now.
inline Result<KernelPlan> plan_next(const Planner& planner, const Stream& stream,
                                    const KernelWork& work, uint64_t ready_ns = 0,
                                    Content content = Content::kGuessed) {
  return planner.plan(work, stream.options().backends, ready_ns,
                      stream.last_backend.load(std::memory_order_relaxed), content);
}

inline void expect(Planner& planner, Node& command, Stream& stream, const KernelPlan& plan) {
  stream.last_backend.store(plan.split ? kNoBackend : plan.backend, std::memory_order_relaxed);
  command.expected = planner.begin(std::get<KernelWork>(command.work), plan);
  if (command.expected.devices == 0) return;
  stream.expected_end_ns.store(command.expected.end_ns, std::memory_order_relaxed);
}

}  // namespace tutti::scheduler
