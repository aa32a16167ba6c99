// SPDX-License-Identifier: Apache-2.0
// Starts commands whose dependencies have ended, in a thread of its own, which never waits: each
// goes to a vendor's queue, or to the thread that carries it out. Thread-safe.
#pragma once

#include <optional>

#include "scheduler/engine/direct_submission.h"
#include "scheduler/order/memory_room.h"
#include "scheduler/run/chains.h"
#include "scheduler/run/host_execution.h"
#include "scheduler/run/kernel_runs.h"

namespace tutti::scheduler {

class Conductor {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    CommandLog& log;
    Planner& planner;
    RunTrace& trace;
    const EngineSettings& settings;
    DirectSubmission& direct;
    CommandEnds& ends;
    MemoryRoom& room;
    Executor& executor;
    KernelRuns& runs;
    Chains& chains;
    HostExecution& host;
    Workers& workers;
    CommandTasks& tasks;
  };
  explicit Conductor(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// Every dependency of the command is done. `plan`: of a kernel, where one was made just now.
  void ready(const Ref<Node>& command, std::optional<KernelPlan> plan = {});

 private:
  void start(const Ref<Node>& command, std::optional<KernelPlan> plan);
  /// Absent: the command has ended, with why it cannot be planned.
  std::optional<KernelPlan> plan_now(const Ref<Node>& command, Content content);
  void begin(const Ref<Node>& command, std::optional<KernelPlan> plan);
  /// Whether something has failed of what a kernel may use.
  bool uses_failed(const KernelWork& work) TUTTI_EXCLUDES(log_.mutex());
  /// Holds what the command uses. False: others use it, too, and it waits for those; or it has
  /// failed.
  bool hold(const Ref<Node>& command, const KernelPlan* plan);
  void start_kernel(const Ref<Node>& command, KernelPlan plan);
  /// Of buffers whose parts move on the plan's devices while it runs: what is valid there alone is
  /// valid in the host's copy, too, where the other devices find it.
  static Status bring_to_host(const KernelPlan& plan);
  /// Every kind of work but kernels, in a thread of its kind.
  void execute(const Ref<Node>& command);
  void start_split(const Ref<Node>& command, KernelPlan plan);

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
