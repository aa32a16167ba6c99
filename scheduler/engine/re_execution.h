// SPDX-License-Identifier: Apache-2.0
// Carries out a command that has failed in a vendor's hands once more, maybe on another device,
// where what it needs is still there. Thread-safe.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/order/command_log.h"
#include "scheduler/order/command_tasks.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/host_execution.h"
#include "scheduler/run/kernel_runs.h"
#include "scheduler/run/package_use.h"

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
  /// what it needs is still there, it is carried out anew in the calling thread, maybe elsewhere,
  /// and finished; and then what has used its result in the vendor's queue. False: none of that,
  /// and the log says why.
  /// `elsewhere`: its device may be about to be lost, so it is carried out by another one, if any
  /// may, and else this will be asked once more.
  bool run(const Ref<Node>& command, cl_int status, bool elsewhere) TUTTI_EXCLUDES(log_.mutex());
  /// Whether a direct command has ended with `status` without having begun, since something that it
  /// came after in the vendor's hands has failed.
  static bool was_called_off(const Node& command, cl_int status) {
    // A queue says so of all that it had where one was called off; of one only its own event does.
    return status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && command.observed &&
           !command.is_batch;
  }
  /// Whether some thread carries out commands anew.
  bool under_way() const { return under_way_.load(std::memory_order_relaxed) > 0; }
  /// Whether content was sent to its device ahead of it.
  bool has_sent(const Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// A command that is running, from begin to end in the calling thread; `plan`: of a kernel.
  void carry_out(const Ref<Node>& command, const std::optional<KernelPlan>& plan);

 private:
  /// As vendors have answered.
  using Statuses = std::vector<std::pair<Ref<Node>, cl_int>>;
  struct Step {
    Ref<Node> command;
    Work work;
    uint32_t backend;                // where it has been
    bool ran;                        // or may have; else it was called off
    std::vector<SentRange> sent;     // ahead of it
    std::optional<KernelPlan> plan;  // of a kernel
    std::vector<PackageUse> uses;    // as it was on the backend
    /// `uses` is what it does, no less and no more.
    bool exact() const { return !plan || plan->exact; }
  };

  /// run(); `work` becomes the command's, and `why` is set where it is not carried out anew for a
  /// reason of its own.
  bool run(const Ref<Node>& command, cl_int status, bool elsewhere, std::optional<Work>& work,
           std::optional<NotAnew>& why) TUTTI_EXCLUDES(log_.mutex());
  bool may_be_anew(const Node& command, bool called_off, std::optional<NotAnew>& why)
      TUTTI_REQUIRES(log_.mutex());
  /// Of what lies behind it in its stream, and is in a vendor's hands.
  Statuses statuses_behind(const Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// Of that, what uses what it should have written, what those should have, and so on; and what
  /// those use and is not known to have ended well. In the stream's order. Absent where some of
  /// that cannot be carried out anew, too.
  std::optional<Nodes> users_of(const Node& command, const Statuses& statuses)
      TUTTI_REQUIRES(log_.mutex());
  /// The blocking reads of what they write, which will be made once more. Absent where something
  /// else uses that.
  std::optional<Nodes> reads_behind(const Node& command, const Nodes& users)
      TUTTI_REQUIRES(log_.mutex());
  /// False: no device can.
  bool plan_step(Step& step, BackendMask allowed) TUTTI_EXCLUDES(log_.mutex());
  /// Whether all that is in the host's copy, from where it was sent.
  static bool is_there(const PackageUse& read, std::span<const SentRange> sent);
  /// Whether one of those before will write all of that again.
  static bool is_restored(const PackageUse& read, std::span<const Step> before);
  /// The same of all but the first. False also where what some need is there no more, or what some
  /// have written of what had failed may stay.
  bool plan_users(std::vector<Step>& steps, BackendMask allowed) TUTTI_EXCLUDES(log_.mutex());
  /// They are in the vendor's hands no more, but run, if nothing has changed meanwhile.
  bool take_over(const std::vector<Step>& steps, bool called_off, const Statuses& statuses,
                 std::optional<NotAnew>& why) TUTTI_EXCLUDES(log_.mutex());

  /// What has been taken over, one after the other in the calling thread.
  void carry_out(const std::vector<Step>& steps) TUTTI_EXCLUDES(log_.mutex());

  const Parts parts_;
  CommandLog& log_;
  std::atomic<int> under_way_{0};
};

}  // namespace tutti::scheduler
