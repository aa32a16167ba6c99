// SPDX-License-Identifier: Apache-2.0
// How commands are found to have ended: those in a vendor's hands when somebody asks the vendor, or
// a worker has waited for it; all others when the log says so. What is measured of direct ones is
// noted here. Thread-safe.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/batch/launch_batches.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/devices/workers.h"
#include "scheduler/engine/re_execution.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_log.h"
#include "scheduler/order/command_tasks.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

class CommandEnds final : public NodeOwner {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    Planner& planner;
    PerformanceModel& model;
    RunSummary& summary;
    RunTrace& trace;
    ReExecution& again;
    LaunchBatches* batches;  // null: there are none
    Workers& workers;
    CommandTasks& tasks;
  };
  explicit CommandEnds(const Parts& parts) : parts_(parts), log_(parts.log) {}

  // NodeOwner
  std::vector<Ref<Node>> overtaken(Node& command) override { return log_.overtaken(command); }
  backends::CompletionPtr completion_of(Node& command) override {
    return log_.completion_of(command);
  }
  /// With it end those before it in its stream that the vendor knows to have ended: nobody may ever
  /// ask for them.
  void finish_direct(const Ref<Node>& command, cl_int status) override;
  /// Where the command is that far already, and its device computes in the calling thread, the
  /// callback comes in that, too, as its driver's do; but not within another one, or they would
  /// pile up on the stack.
  void add_callback(const Ref<Node>& command, cl_int type, Command::Callback callback) override;
  VendorClock& clock(uint32_t backend) override { return clocks_[backend]; }

  /// Direct commands of the stream that are known to have failed are finished, and with them those
  /// before and between them that have ended; up to `until`, if it is one. What is written anew
  /// after a failure is well only in that order. Before that, what they have come behind. `all`:
  /// also where none has failed.
  void note_failures(Stream& stream, const Node* until = nullptr, bool all = false);
  /// Finishes a direct command that the vendor, as it says now, knows to have ended.
  void finish_if_ended(const Ref<Node>& command);
  /// A worker waits for a direct command, which is marked as watched, and finishes it.
  void watch(const Ref<Node>& command);
  /// Likewise, unless somebody does or it has ended: nobody may ever ask for its end.
  void watch_once(const Ref<Node>& command);

  /// Waits until the command is done, whatever its path.
  cl_int wait(const Ref<Node>& command);
  /// The same until its data are in place, which may be before others can see that.
  void wait_for_data(const Ref<Node>& command);
  /// wait() for all. CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST when any failed.
  Status wait_for(std::span<Command* const> commands);
  /// A device is lost: content that lies there alone has failed.
  void lost(uint32_t backend, const Error& why);
  /// As Engine::finish() and Engine::abandon().
  Status finish(Stream& stream);
  void abandon(Stream& stream);

 private:
  /// note_failures() of what has come behind nothing that is not known to have ended.
  void note_failures_of(Stream& stream, const Node* until, bool all);
  /// The batch that a command is an event of, as far as both go on; else null.
  static Ref<Node> batch_of(const Node& event);
  /// Of a command that has ended well: the error of the batch whose event it is, or of what that
  /// has used. Where one of its launches has failed, the others may have used what that left.
  cl_int error_of_batch(const Node& event) TUTTI_REQUIRES(log_.mutex());
  /// An event of a batch, which knows nothing of its launches' ends but the last one's, has failed.
  void spoil_batch(const Node& event, cl_int status) TUTTI_REQUIRES(log_.mutex());
  /// Until the command is in a vendor's hands, or done.
  static void wait_until_direct(const Node& command);
  /// How the command has ended as far as the vendor knows; nothing: it goes on. A batch that does
  /// may still be joined.
  std::optional<cl_int> ended(Node& command);
  /// A launch has ended well that uses what may have failed: which of that it needs, and what it
  /// has written anew.
  void look_closely(const Ref<Node>& command) TUTTI_EXCLUDES(log_.mutex());
  /// A direct command has ended with an error: ReExecution::run(), once those before it have ended.
  bool carry_out_anew(const Ref<Node>& command, cl_int status, bool elsewhere)
      TUTTI_EXCLUDES(log_.mutex());
  /// Waits for what lies before the command in its in-order stream and is carried out anew: nobody
  /// sees it end before that.
  void wait_for_those_anew(const Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// A direct command has failed: all direct ones of its stream before it are finished, where it
  /// was called off, or some of them have no event that would have told. Waits for them.
  void finish_all_before(const Node& command, bool called_off) TUTTI_EXCLUDES(log_.mutex());
  /// What the stream's commands before `until` have come behind: of other streams, and of batches
  /// the events.
  void add_behind(const Stream& stream, const Node* until, Nodes& found)
      TUTTI_REQUIRES(log_.mutex());
  /// The same of what lies before the command, and of itself.
  void add_all_behind(const Node& command, Nodes& found) TUTTI_REQUIRES(log_.mutex());
  /// Those have ended, and so have those that they have come behind: they are finished, the first
  /// ones first, since what they have failed to write others may have read.
  void finish_behind(Nodes open) TUTTI_EXCLUDES(log_.mutex());
  /// Of a batch's events before the command: where all have ended well, and nothing has failed that
  /// they could have read, nobody need hear of them.
  void let_go_ended(Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// finish_direct() where that has been seen to.
  void finish_in_turn(const Ref<Node>& command, cl_int status) TUTTI_EXCLUDES(log_.mutex());
  /// Where a direct command that has ended is in its stream.
  struct Turn {
    Ref<Stream> stream;   // null: it is in none any more
    Ref<Node> until;      // what lies before it, lies before this one
    bool first = true;    // nothing of its stream that may have failed lies before it
    bool failed = false;  // it has, or something that has joined it
  };
  /// Of a batch that fails with it, too, that is noted.
  Turn turn_of(const Ref<Node>& command, cl_int status) TUTTI_REQUIRES(log_.mutex());
  void finish_in_turn(const Ref<Node>& command, cl_int status, const Turn& turn)
      TUTTI_EXCLUDES(log_.mutex());
  /// CL_COMPLETE, or the error of a direct command whose completion does not tell of it.
  cl_int unseen_error(const Node& command) TUTTI_EXCLUDES(log_.mutex());
  /// finish_direct() of this command alone; false when it was done already.
  bool finish_one(const Ref<Node>& command, cl_int own_status);
  /// wait() of this command alone, whatever it overtook.
  cl_int wait_alone(const Ref<Node>& command);
  /// Of a direct command; false: it is none.
  bool wait_for_vendor(const Ref<Node>& command);

  const Parts parts_;
  CommandLog& log_;
  std::array<VendorClock, kMostBackends> clocks_;  // by backend
};

}  // namespace tutti::scheduler
