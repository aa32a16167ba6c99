// SPDX-License-Identifier: Apache-2.0
// Gives direct commands to a vendor's queue: one that is being enqueued in the calling thread; one
// that has waited in its device's thread, and with it what waits for nothing but that, each as if
// it were enqueued now. Thread-safe.
#pragma once

#include <optional>

#include "scheduler/engine/assessor.h"
#include "scheduler/engine/command_ends.h"
#include "scheduler/run/direct_path.h"

namespace tutti::scheduler {

class DirectSubmission {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    const Assessor& assessor;
    DirectPath& direct;
    Planner& planner;
    PerformanceModel& model;
    RunSummary& summary;
    CommandEnds& ends;
    ReExecution& again;
    Workers& workers;
    CommandTasks& tasks;
  };
  explicit DirectSubmission(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// A command that is submitting, as admitted. What is observed of it: itself, or the event of a
  /// batch. `plan`: of a kernel, else null.
  Result<Ref<Node>> submit(const Ref<Node>& command, Stream& stream, const Submission& submission,
                           const KernelPlan* plan);
  /// The command, which waits for nothing any more, goes to its device's queue if it may. False: it
  /// may not.
  bool start(const Ref<Node>& command, const std::optional<KernelPlan>& plan);

 private:
  /// A command that has waited, and may go to a vendor's queue now.
  struct Waited {
    Ref<Node> command;
    Ref<Stream> stream;
    Submission submission;
    std::optional<KernelPlan> plan;  // of a kernel
  };
  /// What is known of a command that a vendor's queue has got.
  struct Sent {
    Ref<Node> observed;
    bool awaited = false;  // others wait for it, which the caller sees to
  };

  Result<Sent> send_one(const Ref<Node>& command, Stream& stream, const Submission& submission,
                        const KernelPlan* plan);
  /// In the vendor's queue; what the command ends with.
  Result<backends::CompletionPtr> hand_over(Node& command, Stream& stream,
                                            const Submission& submission, const KernelPlan* plan);
  /// The device has refused a command, which may have sent something ahead.
  void clear_up(Node& command, Stream& stream, const Submission& refused);
  /// Whether what the device has refused may be done elsewhere.
  bool others_may(const Submission& refused) const;
  /// The device has refused the command, of which nothing has begun: once all that is ahead of it
  /// has ended, it is carried out in the calling thread, wherever that may be.
  void carry_out(const Waited& refused);
  void post(Waited waited);
  /// In the device's thread.
  void send(Waited now);
  /// What waits for nothing but `before`, and may go to the same queue behind that.
  std::optional<Waited> next_waited(const Ref<Node>& before);
  Assessment assess(const Waited& waited, std::span<const Edge> edges) TUTTI_REQUIRES(log_.mutex());
  /// It waits no more.
  void admit(Waited& waited, std::span<const Edge> edges, Assessment&& assessed)
      TUTTI_REQUIRES(log_.mutex());

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
