// SPDX-License-Identifier: Apache-2.0
// Takes in what is enqueued: it joins a launch batch, is handed to a vendor's queue or done at
// once, or is appended to the log behind what it must wait for. Thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/engine/blocking_commands.h"
#include "scheduler/engine/conductor.h"

namespace tutti::scheduler {

class Intake {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    Planner& planner;
    RunTrace& trace;
    RunningSplits& splits;
    MemoryRoom& room;
    LaunchBatches* batches;  // null: there are none
    CommandEnds& ends;
    const Assessor& assessor;
    DirectSubmission& direct;
    HostExecution& host;
    Chains& chains;
    Conductor& conductor;
    BlockingCommands& blocking;
  };
  explicit Intake(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// As Engine::enqueue(). What is observed of the command: null when nobody does and it has joined
  /// a batch.
  Result<Ref<Node>> enqueue(Stream& stream, Work&& work, const EnqueueOptions& options);
  Result<Ref<Node>> enqueue(Stream& stream, KernelWork&& work, const EnqueueOptions& options);

 private:
  /// A command on its way into the log, and what has been tried for it: each but once.
  struct Incoming {
    Ref<Node> command;
    Stream& stream;
    const EnqueueOptions& options;
    std::optional<KernelPlan> plan{};  // of a kernel
    uint64_t planned_ns = 0;           // where it is traced
    bool polled = false, made_room = false, planned_again = false, evaluated = false;

    const KernelPlan* plan_or_null() const { return plan ? &*plan : nullptr; }
    /// It waits for all before it.
    bool gathers() const { return options.waits_for_all && options.wait_list.empty(); }
  };
  /// What has become of it.
  struct Placed {
    Admission decided;
    bool failed = false;               // with something that it names
    cl_int failed_input = CL_SUCCESS;  // not conducted: the error of content that it would read
    bool ready = false;                // conducted: it waits for nothing
    Submission submission;
    Ref<Node> splitting;           // which it might begin during
    Nodes behind;                  // direct ones that somebody must watch from now on
    std::optional<Awaited> waits;  // of a traced command
  };

  /// A command that is enqueued so, for `stream`.
  Ref<Node> new_node(const Stream& stream, const EnqueueOptions& options, Work&& work);
  /// Whether its wait list adds nothing to its place in the stream.
  bool waits_for_turn_only(const Stream& stream, const EnqueueOptions& options);
  /// Whether anything may be one of a batch now.
  bool joins_batches() const;
  Result<Ref<Node>> make(Stream& stream, Work&& work, const EnqueueOptions& options);
  Result<Ref<Node>> take_in(Incoming incoming);
  /// Decides, and appends it to the log. False: something has been done meanwhile with which it may
  /// look better, and it is to be asked again.
  Result<bool> place(Incoming& incoming, Placed& placed);
  /// As decided.
  void append(Incoming& incoming, std::span<const Edge> edges, Assessment&& assessed,
              Placed& placed) TUTTI_REQUIRES(log_.mutex());
  /// Launches in one device's hands each, so short that nothing gains by going before them.
  bool ahead_ends_soon(std::span<const Edge> edges) const TUTTI_REQUIRES(log_.mutex());
  /// That alone keeps it from its device, and is seen to first; then it is asked about again.
  static bool lacks_memory(const Incoming& incoming, const Assessment& assessed);
  /// It is direct behind all of its stream that goes on, where some of that has ended and may not
  /// show it yet: `edges` and `assessed` become what that is. False: it is not.
  bool follow_queue(const Incoming& incoming, Edges& edges, Assessment& assessed)
      TUTTI_REQUIRES(log_.mutex());
  /// What it must wait for if it runs before what is unfinished in its stream; absent: it does not.
  std::optional<Edges> edges_of_data(const Incoming& incoming, std::span<const Edge> edges)
      TUTTI_REQUIRES(log_.mutex());
  /// It runs so, where that is better than as `assessed`: both become what that is. False: it does
  /// not.
  bool overtake(const Incoming& incoming, Edges needed, Edges& edges, Assessment& assessed)
      TUTTI_REQUIRES(log_.mutex());
  /// Where a launch is traced: what was decided of it.
  void note_decision(const Incoming& incoming);
  /// With what it has got; what is observed of it.
  Result<Ref<Node>> start(Incoming& incoming, Placed& placed);

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
