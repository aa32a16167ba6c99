// SPDX-License-Identifier: Apache-2.0
// Finds out about a command what Admission wants to know, and carries out what that decides: the
// one place where a decision has effects. Its caller holds the log's lock, and says so by giving
// the log. Thread-safe.
#pragma once

#include <span>
#include <vector>

#include "scheduler/engine/admission.h"
#include "scheduler/order/command_log.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/direct_path.h"
#include "scheduler/run/executor.h"

namespace tutti::scheduler {

/// What was decided about a command, and what of the facts is needed to do so. May be thrown away.
struct Assessment {
  Admission decided;
  BufferUses uses;
  Nodes conflicts;  // as far as they were looked for: of direct commands, all
};

/// What a vendor's queue gets.
struct Submission {
  uint32_t backend = kNoBackend;
  BufferUses uses{};
  SmallVector<backends::CompletionPtr, 4> wait{};
  Nodes waited_for{};                    // whose completions those are
  backends::CompletionPtr completion{};  // it ends with this, and nothing is submitted
  bool marks = false;                    // a mark is
};

class Assessor {
 public:
  Assessor(BackendSet& backends, const Planner& planner, const DirectPath& direct,
           const Executor& executor, bool launches_apart)
      : backends_(backends),
        planner_(planner),
        direct_(direct),
        executor_(executor),
        launches_apart_(launches_apart) {}

  /// `edges`: what it would wait for; `plan`: of a kernel, else null; `overtakes`: it would run
  /// before what is unfinished in its stream.
  Assessment assess(CommandLog& log, const Node& command, const Stream& stream,
                    std::span<const Edge> edges, const KernelPlan* plan,
                    bool overtakes = false) const TUTTI_REQUIRES(log.mutex());
  /// For what is direct by that: batches that it waits for take no more. `admitted`, which is
  /// empty, gets what its queue is to get.
  static void admit(CommandLog& log, const Stream& stream, std::span<const Edge> edges,
                    Assessment&& assessed, Submission& admitted) TUTTI_REQUIRES(log.mutex());

 private:
  Admission::Asked asked(const Work& work, const Stream& stream, std::span<const Edge> edges,
                         const KernelPlan* plan, bool overtakes,
                         std::span<const BufferUse> uses) const;
  /// Where a transfer that waits for nothing is best done: sets the facts about that.
  void find_place(const Work& work, std::span<const BufferUse> uses, Admission::Asked& asked) const;

  BackendSet& backends_;
  const Planner& planner_;
  const DirectPath& direct_;
  const Executor& executor_;
  const bool launches_apart_;  // each in a thread of ours
};

}  // namespace tutti::scheduler
