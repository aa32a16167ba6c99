// SPDX-License-Identifier: Apache-2.0
// Carries out conducted launches as planned, whole on one device or split over several, in the
// devices' threads: notes what they took, and finishes their commands. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "scheduler/devices/workers.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_tasks.h"
#include "scheduler/order/memory_room.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/block_compare.h"
#include "scheduler/run/executor.h"
#include "scheduler/run/launch_sequences.h"
#include "scheduler/run/overdue_packages.h"
#include "scheduler/run/running_splits.h"
#include "scheduler/run/split_run.h"
#include "scheduler/run/verification.h"
#include "scheduler/run/vote.h"

namespace tutti::scheduler {

class KernelRuns {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    const EngineSettings& settings;
    CommandLog& log;
    Planner& planner;
    PerformanceModel& model;
    Executor& executor;
    RunSummary& summary;
    RunTrace& trace;
    BlockCompare& compare;
    VerificationReport& verified;
    RunningSplits& splits;
    OverduePackages& overdue;
    MemoryRoom& room;
    Workers& workers;
    CommandTasks& tasks;
  };
  explicit KernelRuns(const Parts& parts) : parts_(parts), sequences_(parts.model) {}

  /// The launch, whole, from begin to end in the calling thread: on the plan's device, or where
  /// that fails, and what it needs is still there, on another one. `not_late`: not on a late
  /// device, which may have parts of it under way.
  void run_whole(const Ref<Node>& command, KernelPlan plan, bool not_late = false);
  /// With TUTTI_VERIFY=vote: as run_whole, but several devices compute it and vote, where they can.
  void run_voted(const Ref<Node>& command, KernelPlan plan);
  /// A launch that is split, or one package behind such a one: it counts as running, and waits for
  /// begin(). With verification it first copies what the launch may write, which takes its time.
  std::shared_ptr<SplitRun> prepare(const Ref<Node>& command, const KernelWork& work,
                                    KernelPlan plan);
  void begin(const std::shared_ptr<SplitRun>& run);

 private:
  std::unique_ptr<Balancer> balancer_for(KernelPlan& plan,
                                         const std::vector<BalancerDevice>& devices);
  /// As planned; `ran` gets its times. Where it fails and nothing of it is left, `as_before` is
  /// set.
  Status run_once(const Ref<Node>& command, KernelPlan& plan, PackageRecord& ran, bool& as_before);
  /// Something may be sent ahead between launches of the stream.
  bool looks_ahead(const Stream& stream) const;
  /// What is sent ahead of a launch that begins now, for the one expected behind it; null: nothing.
  std::shared_ptr<Prefetch> prefetch_of(const Ref<Node>& command, const KernelWork& work,
                                        const KernelPlan& plan);
  std::shared_ptr<Verification> verification_of(const KernelWork& work, const KernelPlan& plan);
  void whole_ended(const Ref<Node>& command, const KernelPlan& plan, const Status& status,
                   const PackageRecord& ran);
  /// The launch has ended; what it has left on devices that were lost meanwhile has failed.
  void finish(const Ref<Node>& command, const Status& status);
  /// By the worker that ends last. `verification`: null where it is not repeated.
  void split_ended(const Ref<Node>& command, KernelPlan& plan, Verification* verification,
                   const SplitRun::Outcome& outcome);
  /// What a split launch took.
  void remember(const KernelWork& work, const KernelPlan& plan, const SplitRun::Outcome& outcome);

  /// The devices in the order in which they are asked.
  std::vector<uint32_t> voters(const KernelWork& work, BackendMask allowed);

  const Parts parts_;
  VoterChoice voter_choice_;
  LaunchSequences sequences_;
  std::atomic<uint64_t> launches_{0};  // varies the seed of forced splits
};

}  // namespace tutti::scheduler
