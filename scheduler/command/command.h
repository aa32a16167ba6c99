// SPDX-License-Identifier: Apache-2.0
// An entry of the command log: one enqueued command (or user event), its place in the dependency
// graph, its state and times. Reference counted. The log's lock guards the graph fields (only
// CommandLog touches them); status and times may be read by any thread.
//
//   created ─┬─ every dependency done or ahead on the same device ──▶ submitting ▶ direct ─┐
//            ├─ a thread waits for it (blocking call) ──▶ waiting ──▶ running ─────────────┤
//            └─ otherwise ──▶ waiting ──(last dependency done)──▶ running ─────────────────┴▶ done
//   user event: waiting ──(clSetUserEventStatus)──▶ done
// A command that overtook others of its in-order stream (CommandLog::edges_of_data) is `ended`, not
// done, as long as one of those is not done: its data are in place, and nobody can see that yet.
// `direct`: handed to a vendor's queue by the enqueuing thread. It becomes done when somebody asks
// the vendor, or when a worker was told to wait because other commands or callbacks depend on it.
//
// A launch batch is a direct kernel launch that nobody observes, and the launches that followed it
// at once: one command for all, which goes from direct to submitting and back for each that joins.
// Whoever wants its completion closes it first (CommandLog::completion_of). One of these launches
// may be observed nevertheless: a command of its own, the batch's event, is what is known of its
// end. It holds nothing, is not in its stream's order, and need not ever be done.
#pragma once

#include <CL/cl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/api/backend.h"
#include "base/ref_counted.h"
#include "base/result.h"
#include "scheduler/command/launched_arguments.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/device_load.h"
#include "scheduler/devices/vendor_clock.h"

namespace tutti::scheduler {

class Command;
class EarlyRead;
class Stream;
struct CommandTrace;
struct KernelPlan;

/// Profiling times in nanoseconds of the process's steady clock; zero = not yet.
struct CommandTimes {
  uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
};

/// Why a command waits for another.
enum class Waits : uint8_t {
  kNamed,  // the application said so: errors pass along
  kOrder,  // its place in the stream
  kData,   // both use the same bytes, and the other one has started: until that has ended
  kShow,   // it only is not done before the other is
};

/// What a command asks of the engine that it belongs to, and that outlives it.
class CommandOwner {
 public:
  /// Those that the command overtook in its stream, as far as they are not done.
  virtual std::vector<Ref<Command>> overtaken(Command& command) = 0;
  /// Of a direct command, which ends with it; null: a launch is joining it.
  virtual backends::CompletionPtr completion_of(Command& command) = 0;
  /// The vendor has answered that a direct command ended with `status`.
  virtual void finish_direct(const Ref<Command>& command, cl_int status) = 0;
  virtual void add_callback(const Ref<Command>& command, cl_int type,
                            std::function<void(cl_int status)> callback) = 0;
  virtual VendorClock& clock(uint32_t backend) = 0;

 protected:
  ~CommandOwner() = default;
};

/// A kernel's launch as its device's queue gets it.
struct VendorLaunch {
  backends::Queue* queue = nullptr;
  backends::Launch launch;
  std::vector<backends::Argument> arguments;
};

class Command : public RefCounted {
 public:
  enum class State : uint8_t { kCreated, kWaiting, kRunning, kSubmitting, kDirect, kEnded, kDone };
  /// Who knows when its data are in place.
  enum class Data : uint8_t { kPending, kVendorKnows, kInPlace };
  using Callback = std::function<void(cl_int status)>;

  Command(CommandOwner& owner, cl_command_type type, Work work);
  ~Command() override;

  cl_command_type type() const { return type_; }
  bool is_user() const { return type_ == CL_COMMAND_USER; }
  /// CL_QUEUED … CL_COMPLETE or a negative error; asks the vendor for direct commands.
  cl_int status();
  /// Valid as far as the command has come; QUEUED ≤ SUBMIT ≤ START ≤ END.
  CommandTimes times();
  /// Calls back once when the status reaches `type` (CL_SUBMITTED, CL_RUNNING or CL_COMPLETE, or an
  /// error), at once if it already has, from a thread of the engine with no lock held.
  void add_callback(cl_int type, Callback callback);

 private:
  friend class Engine;
  friend class CommandLog;

  struct Dependent {
    Ref<Command> command;
    Waits waits;
  };
  struct PendingCallback {
    cl_int type;
    Callback callback;
  };

  /// status() of this command alone, whatever it overtook.
  cl_int poll();
  bool done() const { return status_.load(std::memory_order_acquire) <= CL_COMPLETE; }
  void read_vendor_times();

  CommandOwner& owner_;
  const cl_command_type type_;
  Work work_;
  std::atomic<cl_int> status_{CL_QUEUED};
  std::atomic<uint64_t> queued_{0}, submitted_{0}, started_{0}, ended_{0};

  // Guarded by the log's lock.
  State state_ = State::kCreated;
  bool awaited_ = false;  // a thread waits to execute it: it is not given to a worker
  bool watched_ = false;  // a worker waits for completion_
  // It lacks memory on a device: it has begun nothing yet, and others may evict what it will use.
  // Changed by who executes it only.
  bool allocating_ = false;
  uint32_t unfinished_ = 0;  // dependencies not done, +1 while being linked
  cl_int dependency_error_ = CL_SUCCESS;
  std::vector<Dependent> dependents_;
  std::vector<PendingCallback> callbacks_;
  // Of those that overtook others, and those behind them: the one before in the stream, until that
  // is done.
  Ref<Command> after_;
  cl_int ended_status_ = CL_SUCCESS;  // of kEnded
  bool held_back_ = false;            // waited for other streams when it was enqueued
  bool chained_ = false;              // runs behind a split already, as far as data allow
  bool behind_split_ = false;  // a short whole launch that may be chained when its turn comes
  std::shared_ptr<EarlyRead> early_;              // of a read that has begun behind a split
  std::vector<Ref<LogicalBuffer>> used_buffers_;  // those that hold a RangeUse of this command
  Ref<Stream> stream_;                            // until done

  // Of batches. Guarded by the log's lock, but for is_batch_, which is constant once direct.
  struct Member {
    std::shared_ptr<LaunchableKernel> kernel;
    std::shared_ptr<const ArgumentSet> arguments;  // null: nothing of them has to live on
  };
  bool is_batch_ = false;
  bool open_ = false;        // further launches may join
  bool idle_ = false;        // CommandLog::make_idle()
  bool has_events_ = false;  // only what is brief may join
  // What reads that have joined write in the host's memory, and what lies between; until it is
  // idle.
  uintptr_t host_begin_ = 0, host_end_ = 0;
  uint64_t releases_ = 0;        // of the log, when it was appended
  std::vector<Member> members_;  // kept alive until the end
  // Of the launches that have joined, the last ones that differ in more than numbers.
  struct Kind {
    KernelWork work;
    std::shared_ptr<const KernelPlan> plan;  // null: each launch is planned
    uint32_t left = 0;                       // so many more launches need no plan
    bool brief = false;                      // as their plan says
    // Its buffers were where the launch has left them when the last one joined: one of this kind
    // needs no look at them.
    bool unchanged = false;
    // Of the thread that launches.
    VendorLaunch vendor;
    LaunchedArguments arguments;
    bool has_shape(const LaunchableKernel* kernel, const LaunchShape& shape,
                   bool local_given) const {
      return kernel == work.kernel.get() && shape == work.shape && local_given == work.local_given;
    }
  };
  struct Kinds {
    std::array<Kind, 6> kinds;
    size_t next = 0;       // to be replaced
    bool touched = false;  // others have used the batch's buffers since a launch joined by a look
  };
  std::unique_ptr<Kinds> kinds_;  // null: none yet
  // Of its first launch, if it will do for others like that; constant once direct.
  std::shared_ptr<const KernelPlan> plan_;

  // Written once before direct_ is set; a batch's completion changes while it is open.
  uint32_t backend_ = UINT32_MAX;
  bool observed_ = true;  // somebody may ask for this very command's end
  bool sampled_ = false;  // a kernel whose time the performance model wants
  backends::CompletionPtr completion_;
  std::atomic<bool> direct_{false};
  bool overtook_ = false;  // after_ is or was set; constant once enqueued
  std::atomic<Data> data_{Data::kPending};
  Expectation expected_;  // constant once started

  std::shared_ptr<CommandTrace> trace_;  // null: not traced; constant once enqueued
};

}  // namespace tutti::scheduler
