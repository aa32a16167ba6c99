// SPDX-License-Identifier: Apache-2.0
// The engine's inside: the log with its consequences, the threads, and the three ways to execute a
// command (direct, in the calling thread, by the conductor). Not for other folders.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "base/task_thread.h"
#include "scheduler/batch/launch_batches.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/engine/engine.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_log.h"
#include "scheduler/run/block_compare.h"
#include "scheduler/run/direct_path.h"
#include "scheduler/run/early_read.h"
#include "scheduler/run/executor.h"
#include "scheduler/run/split_run.h"
#include "scheduler/run/verification.h"

namespace tutti::scheduler {

struct Engine::Impl : LogSink, NodeOwner {
  Impl(BackendSet& set, EngineSettings chosen);

  // LogSink
  void ready(Ref<Node> command) override;
  void watch(Ref<Node> command) override;
  void call_back(Command::Callback callback, cl_int status) override;

  // NodeOwner
  std::vector<Ref<Node>> overtaken(Node& command) override { return log.overtaken(command); }
  backends::CompletionPtr completion_of(Node& command) override {
    return log.completion_of(command);
  }
  /// With it end those before it in its stream that the vendor knows to have ended: nobody may ever
  /// ask for them.
  void finish_direct(const Ref<Node>& command, cl_int status) override;
  void add_callback(const Ref<Node>& command, cl_int type, Command::Callback callback) override {
    log.add_callback(command, type, std::move(callback));
  }
  VendorClock& clock(uint32_t backend) override { return clocks[backend]; }

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
  /// A command that has waited and may go to a vendor's queue now, as decided.
  struct Waited;
  /// The command, which waits for nothing any more, goes to its device's queue if it may, in the
  /// device's thread, and with it what waits for nothing but that. False: it may not.
  bool start_direct(const Ref<Node>& command, const std::optional<KernelPlan>& plan);
  void post(Waited waited);
  /// In the device's thread.
  void send(Waited now);
  /// What waits for nothing but `before`, and may go to the same queue behind that.
  std::optional<Waited> next_waited(const Ref<Node>& before);
  /// Sees to it that the end of a direct command is noticed though nobody may ever ask for it.
  void watch_once(const Ref<Node>& command);
  /// Until the command is in a vendor's hands, or done.
  static void wait_until_direct(const Node& command);
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

  /// The same if the vendor has, as it says now.
  void finish_if_ended(const Ref<Node>& command);
  /// Runs a small blocking read behind what its stream has on the device that holds the data, if it
  /// has anything, outside the log's order: the vendor's queue keeps it. Nothing: it takes the
  /// usual way.
  std::optional<Status> read_behind(Stream& stream, const Ref<Node>& command);
  /// Waits until the command is done, whatever its path.
  cl_int wait(const Ref<Node>& command);
  /// The same until its data are in place, which may be before others can see that.
  void wait_for_data(const Ref<Node>& command);
  /// Allocates what buffers lack on the device, as far as there is room.
  void allocate_what_fits(std::span<const BufferUse> uses, uint32_t backend);
  /// For a command that is allocating_: allocates what its buffers lack on the devices, and makes
  /// room there. What was used longest ago goes back to the host.
  Status allocate(Node& command, std::span<const BufferUse> uses,
                  std::span<const uint32_t> devices);
  /// The model has new samples: has them written once enough time has passed.
  void learned();
  /// Gives `worker` a task of the command. Where the task throws, or there is no thread for it, the
  /// command fails.
  template <typename Task>
  void post_for(TaskThread& worker, const Ref<Node>& command, Task task) {
    const Status posted = guarded([&] {
      worker.post([this, command, task = std::move(task)]() mutable {
        fail_if_thrown(command, guarded(task));
      });
    });
    fail_if_thrown(command, posted);
  }
  void fail_if_thrown(const Ref<Node>& command, const Status& thrown);

  BackendSet& backends;
  const EngineSettings settings;
  PerformanceModel& model;
  Planner planner;
  Executor executor;
  DirectPath direct;
  CommandLog log;
  EnergyMonitor energy;
  RunSummary summary;
  RunTrace trace;
  BlockCompare compare;
  VerificationReport verified;
  std::array<VendorClock, kMostBackends> clocks;  // by backend
  struct Split {
    Ref<Node> command;
    std::shared_ptr<SplitRun> run;
  };
  std::vector<Split> splits TUTTI_GUARDED_BY(log.mutex());  // that run
  std::unique_ptr<LaunchBatches> batches;  // null: each launch is a command of its own
  Mutex room_mutex;  // one command at a time makes room; waits only for those that need none
  std::atomic<uint64_t> launches{0};  // of split kernels: varies the seed of forced splits

  // Last, so that they end first.
  TaskThread conductor{"tutti-conductor"};
  TaskThread host_worker{"tutti-host"};
  TaskThread native_worker{"tutti-native"};  // the application's own functions, however long
  TaskThread room_worker{"tutti-memory"};
  TaskThread callback_thread{"tutti-callback"};
  std::vector<std::unique_ptr<TaskThread>> workers;  // one per backend that may be

 private:
  struct Decision;
  std::shared_ptr<SplitRun> make_split(const Ref<Node>& command, const KernelWork& work,
                                       KernelPlan plan);
  void post(const Ref<Node>& command, const std::shared_ptr<SplitRun>& run);
  /// Whether a launch of this plan, which is evaluated for that, is worth chaining to `before`.
  bool may_follow(const std::shared_ptr<SplitRun>& before, const KernelWork& work,
                  KernelPlan& plan) const;
  /// A whole launch that was chained has run.
  std::shared_ptr<SplitRun> split_of(const Node& command) TUTTI_REQUIRES(log.mutex());
  /// The running split that `work`, behind `edges`, may begin during; null: none.
  Ref<Node> split_before(const Work& work, std::span<const Edge> edges) TUTTI_REQUIRES(log.mutex());
  /// Whether a launch behind `edges` is a short whole one that may be chained when its turn comes.
  bool behind_split(std::span<const Edge> edges, const KernelPlan* plan)
      TUTTI_REQUIRES(log.mutex());
  /// How the command has ended as far as the vendor knows; nothing: it goes on. A batch that does
  /// may still be joined.
  std::optional<cl_int> ended(Node& command);
  /// finish_direct() of this command alone; false when it was done already.
  bool finish_one(const Ref<Node>& command, cl_int status);
  Decision decide(const Ref<Node>& command, Stream& stream, std::span<const Edge> edges,
                  const KernelPlan* plan, bool overtakes = false) TUTTI_REQUIRES(log.mutex());
  /// The command that is observed: itself, or the event of a batch.
  /// `awaited`: gets whether others wait for the command, which the caller then sees to.
  Result<Ref<Node>> submit(const Ref<Node>& command, Stream& stream, const Decision& decision,
                           const KernelPlan* plan, bool* awaited = nullptr);
  /// wait() of this command alone, whatever it overtook.
  cl_int wait_alone(const Ref<Node>& command);
  /// Of a direct command; false: it is none.
  bool wait_for_vendor(const Ref<Node>& command);
  /// The launch is about to be given to its devices.
  void expect(Node& command, Stream& stream, const KernelPlan& plan);
  void poll(std::span<const Edge> edges);
  /// Somebody's memory on the device is free now, or may be; false: the command has all that
  /// buffers have.
  Result<bool> free_some(const Node& command, uint32_t backend);
  Status allocate_one(const Node& command, LogicalBuffer& buffer, uint32_t backend);
  /// No kernel; in the calling thread.
  Status execute(Node& command);
};

}  // namespace tutti::scheduler
