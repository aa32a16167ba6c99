// SPDX-License-Identifier: Apache-2.0
// What the engine tells the trace (base/trace.h). Its rows:
//
//   the application   a row per thread: its calls ("api"), and what they do at once ("host")
//   Tutti             "decisions": what the planner chose for each launch, and why; "merges"; our
//                     own threads ("host"); beside the rows, a span per split launch ("launch")
//   device i          "transfers" and "early reads"; a row per queue with what runs on it: whole
//                     launches ("kernel"), packages of split ones ("package"), transfers; "state":
//                     when it was lost or late, and how long ("device"); "memory": evictions, and
//                     shards that are made or change ("memory"); as a counter, "memory": the bytes
//                     that buffers have there (scheduler/devices/memory_history.h)
//
// Arrows lead from the call to the decision, and from there to each package. Events of one command
// have its number as argument "command". Devices are numbered as `tutti devices` does. A note
// "tutti_command" tells each command's queue and what it waited for; one that waits for data once
// its turn has come has two, which add up.
// Energy is counted by the same runs, so what is told here goes to the EnergyMonitor, too.
// Thread-safe. With both off, a command has no CommandTrace and nothing else is done.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "base/trace.h"
#include "scheduler/command/command.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"

namespace tutti::scheduler {

struct CommandTrace;

/// A transfer on its way in a vendor's queue.
struct SentTransfer {
  backends::CompletionPtr completion;
  uint64_t bytes = 0;
  std::string argument;
};

/// What a command that is no kernel does, in words.
struct Deed {
  const char* name = nullptr;  // null: nothing worth a slice
  const char* why = "";
  uint64_t bytes = 0;
  Direction direction = Direction::kOnDevice;
};

/// The numbers of those that a command waits for, by why.
struct Awaited {
  std::vector<uint64_t> named, order, data;
  void add(const CommandTrace* before, Waits waits);  // null: it is not traced
  bool empty() const { return named.empty() && order.empty() && data.empty(); }
};

/// What the trace knows of one command.
struct CommandTrace {
  uint64_t number = 0;
  uint32_t stream = 0;
  trace::Row caller;  // of the call that enqueued it
  uint64_t called_ns = 0;
  uint64_t decided_ns = 0;  // within the decision as drawn
  Deed deed;
  std::string launches;            // the kernel that it launches; empty: none
  std::string kernel;              // once it was decided on; empty: none
  uint64_t items = 0;              // of the launch
  std::vector<SentTransfer> sent;  // direct path, ahead of the kernel
  std::atomic<bool> ended{false};  // direct path: it has been traced
  // Of a kernel, until its launch has ended: see EnergyMonitor. Only its own launch touches it.
  mutable std::shared_ptr<void> under_way;
};

class RunTrace {
 public:
  RunTrace(BackendSet& backends, EnergyMonitor& energy);

  /// Every launch is told: each is a command of its own, whose times are measured.
  bool wants_all() const { return trace::on() || energy_.on(); }
  /// For a command that the calling thread enqueues; null when nobody wants to be told.
  std::shared_ptr<CommandTrace> begin(const Work& work, uint32_t stream, uint64_t called_ns) const;
  /// It is enqueued, and waits for these; named ones count though they have ended.
  void enqueued(const CommandTrace& command, const Awaited& awaited) const;
  /// Its turn has come, and others use its data.
  void held_up(const CommandTrace& command, const Awaited& awaited) const;
  /// A user event; null when nothing is traced.
  std::shared_ptr<CommandTrace> user_event() const;
  /// The planner took from begin to end to choose.
  void decided(CommandTrace& command, const KernelWork& work, const KernelPlan& plan,
               uint64_t begin_ns, uint64_t end_ns);
  /// A package of a split launch, or (`slices` 0) a whole launch, has run.
  void ran(const CommandTrace& command, const PackageRecord& package);
  /// A command of the direct path has ended; times as Command::times(). Only the first call counts.
  void ended_direct(CommandTrace& command, uint32_t backend, const CommandTimes& times,
                    VendorClock& clock);
  /// The copies of the devices became one; `how`: the merge mode.
  void merged(const CommandTrace& command, const char* how, uint64_t begin_ns, uint64_t end_ns);
  /// A split launch, from its begin to the end of its merges.
  void launched(const CommandTrace& command, uint64_t begin_ns, uint64_t end_ns, bool failed);
  /// The device takes no part from now on; and it does again.
  void lost(uint32_t backend, const Error& why);
  /// The device has computed a launch that was voted on; not `right`: others have computed
  /// something else, and agreed.
  void voted(uint32_t backend, const std::string& kernel, uint64_t begin_ns, uint64_t end_ns,
             bool right);
  /// A launch of the kernel goes on without the device's package, and the device takes no part.
  void late(uint32_t backend, const std::string& kernel);
  void was_lost(uint32_t backend, uint64_t lost_ns, uint64_t now_ns);
  /// The process ends: what is left to tell.
  void end();

 private:
  trace::Lane& queue(uint32_t backend, uint32_t stream) TUTTI_EXCLUDES(mutex_);
  /// `number` 0: the name stands alone.
  trace::Lane& lane(trace::Row row, const char* name, uint32_t number) TUTTI_EXCLUDES(mutex_);

  BackendSet& backends_;
  EnergyMonitor& energy_;
  Mutex mutex_;
  std::map<trace::Row, std::unique_ptr<trace::Lane>> lanes_ TUTTI_GUARDED_BY(mutex_);
};

/// Traces what the calling thread does for a command that is no kernel, and is the cause of its
/// transfers. `command` may be null.
class HostScope {
 public:
  explicit HostScope(const CommandTrace* command);
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  const CommandTrace* const command_;
  const uint64_t begin_ns_;
  const TransferCause cause_;
};

}  // namespace tutti::scheduler
