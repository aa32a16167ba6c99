// SPDX-License-Identifier: Apache-2.0
// Carries out a command that has failed in a vendor's hands once more, maybe on another device,
// where what it needs is still there. Thread-safe.
#pragma once

#include <optional>

#include "scheduler/order/command_log.h"
#include "scheduler/order/command_tasks.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/host_execution.h"
#include "scheduler/run/kernel_runs.h"

namespace tutti::scheduler {

class ReExecution {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    Planner& planner;
    HostExecution& host;
    KernelRuns& runs;
    CommandTasks& tasks;
  };
  explicit ReExecution(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// A direct command has ended with an error, and those before it in its stream have ended. Where
  /// what it needs is still there, and nothing that relies on it has begun, it is carried out anew
  /// in the calling thread, maybe elsewhere, and finished. False: it is not, and the log says why.
  /// `elsewhere`: its device may be about to be lost, so it is carried out by another one, if any
  /// may, and else this will be asked once more.
  bool run(const Ref<Node>& command, cl_int status, bool elsewhere) TUTTI_EXCLUDES(log_.mutex());
  /// Whether content was sent to its device ahead of it.
  bool has_sent(const Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// A command that is running, from begin to end in the calling thread; `plan`: of a kernel.
  void carry_out(const Ref<Node>& command, const std::optional<KernelPlan>& plan);

 private:
  /// run(); `work` becomes the command's, and `why` is set where it is not carried out anew for a
  /// reason of its own.
  bool run(const Ref<Node>& command, cl_int status, bool elsewhere, std::optional<Work>& work,
           std::optional<NotAnew>& why) TUTTI_EXCLUDES(log_.mutex());
  /// Whether something that uses what the command should have written has begun.
  bool relied_on(const Node& command) TUTTI_REQUIRES(log_.mutex());
  bool may_be_anew(const Node& command, bool called_off, std::optional<NotAnew>& why)
      TUTTI_REQUIRES(log_.mutex());

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
