// SPDX-License-Identifier: Apache-2.0
// What begins behind a split launch before that has ended, in the conductor's thread: the kernel
// behind it, as soon as the data that it needs are there, if it is known which those are; or the
// read. Thread-safe.
#pragma once

#include <memory>

#include "scheduler/order/memory_room.h"
#include "scheduler/run/kernel_runs.h"

namespace tutti::scheduler {

class Chains {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    const EngineSettings& settings;
    CommandLog& log;
    Planner& planner;
    RunTrace& trace;
    RunningSplits& splits;
    MemoryRoom& room;
    KernelRuns& runs;
    Workers& workers;
    CommandTasks& tasks;
  };
  explicit Chains(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// The run begins, and what is behind it may.
  void begin(const Ref<Node>& command, const std::shared_ptr<SplitRun>& run);
  /// What has been enqueued behind `before`, which runs split or has begun behind such a launch,
  /// may begin: a kernel, or a read.
  void look_behind(Ref<Node> before, bool kernel);

 private:
  void chain_next(const Ref<Node>& before);
  void read_early(const Ref<Node>& before);
  /// `next` is chained to `run`, if nothing else stands in its way: it holds what it uses.
  bool hold_behind(const Ref<Node>& before, const std::shared_ptr<SplitRun>& run,
                   const Ref<Node>& next, const KernelPlan& plan);
  /// Whether a launch of this plan, which is evaluated for that, is worth chaining to `before`.
  bool may_follow(const std::shared_ptr<SplitRun>& before, const KernelWork& work,
                  KernelPlan& plan) const;

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
