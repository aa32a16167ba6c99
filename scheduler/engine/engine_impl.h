// SPDX-License-Identifier: Apache-2.0
// The engine's inside: the log with its consequences, the threads, and the three ways to execute a
// command (direct, in the calling thread, by the conductor). Not for other folders.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/batch/launch_batches.h"
#include "scheduler/devices/workers.h"
#include "scheduler/engine/assessor.h"
#include "scheduler/engine/command_ends.h"
#include "scheduler/engine/direct_submission.h"
#include "scheduler/engine/engine.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_log.h"
#include "scheduler/order/command_tasks.h"
#include "scheduler/order/memory_room.h"
#include "scheduler/run/block_compare.h"
#include "scheduler/run/direct_path.h"
#include "scheduler/run/early_read.h"
#include "scheduler/run/executor.h"
#include "scheduler/run/running_splits.h"
#include "scheduler/run/split_run.h"
#include "scheduler/run/verification.h"

namespace tutti::scheduler {

struct Engine::Impl : LogSink, MemoryRoom::Others {
  Impl(BackendSet& set, EngineSettings chosen);

  // LogSink
  void ready(Ref<Node> command) override;
  void watch(Ref<Node> command) override { ends.watch(command); }
  void call_back(Command::Callback callback, cl_int status) override;

  // MemoryRoom::Others
  void end_idle() override { batches->close(nullptr); }
  std::vector<Ref<Node>> with_own_memory() override {
    log.mutex().assert_held();
    return splits.commands(log);
  }
  void wait_for_data(const Ref<Node>& command) override { ends.wait_for_data(command); }

  /// `plan` of a kernel, where it is known already.
  Result<Ref<Node>> enqueue(Stream& stream, Ref<Node> command, const EnqueueOptions& options,
                            std::optional<KernelPlan> plan = {});
  /// A launch on an in-order stream that waits for its turn only. The command is null when nobody
  /// observes the launch and it has joined the one before.
  Result<Ref<Node>> enqueue_launch(Stream& stream, KernelWork&& work,
                                   const EnqueueOptions& options);
  Result<Ref<Node>> run_blocking(Stream& stream, Ref<Node> command, const EnqueueOptions& options);
  /// What a command waits for, for the trace: `edges`, and what the application named, though it
  /// may have ended.
  static Awaited awaited(std::span<const Edge> edges, std::span<Command* const> wait_list = {});
  /// In the conductor's thread: every dependency is done.
  void start(const Ref<Node>& command);
  void start_kernel(const Ref<Node>& command, const KernelWork& work, KernelPlan plan);

  /// In the device's thread.
  void run_whole(const Ref<Node>& command, const KernelPlan& plan);
  void whole_ended(const Ref<Node>& command, const KernelPlan& plan, const Status& status,
                   const PackageRecord& ran);
  void start_split(const Ref<Node>& command, const KernelWork& work, KernelPlan plan);
  /// In the conductor's thread. `before` runs split, or has begun behind such a launch: the kernel
  /// behind it begins as soon as the data that it needs are there, if it is known which those are.
  void chain_next(const Ref<Node>& before);
  /// Likewise for the read behind it.
  void read_early(const Ref<Node>& before);

  /// Runs a small blocking read behind what its stream has on the device that holds the data, if it
  /// has anything, outside the log's order: the vendor's queue keeps it. Nothing: it takes the
  /// usual way.
  std::optional<Status> read_behind(Stream& stream, const Ref<Node>& command);
  BackendSet& backends;
  const EngineSettings settings;
  PerformanceModel& model;
  Planner planner;
  Executor executor;
  DirectPath direct;
  CommandLog log;
  CommandTasks tasks;
  EnergyMonitor energy;
  RunSummary summary;
  RunTrace trace;
  BlockCompare compare;
  VerificationReport verified;
  RunningSplits splits;
  MemoryRoom room;
  std::unique_ptr<LaunchBatches> batches;  // null: each launch is a command of its own
  CommandEnds ends;
  Assessor assessor;
  DirectSubmission submitter;
  std::atomic<uint64_t> launches{0};  // of split kernels: varies the seed of forced splits

  Workers workers;  // last, so that they end first

 private:
  std::shared_ptr<SplitRun> make_split(const Ref<Node>& command, const KernelWork& work,
                                       KernelPlan plan);
  void post(const Ref<Node>& command, const std::shared_ptr<SplitRun>& run);
  /// Whether a launch of this plan, which is evaluated for that, is worth chaining to `before`.
  bool may_follow(const std::shared_ptr<SplitRun>& before, const KernelWork& work,
                  KernelPlan& plan) const;
  void poll(std::span<const Edge> edges);
  /// No kernel; in the calling thread.
  Status execute(Node& command);
};

}  // namespace tutti::scheduler
