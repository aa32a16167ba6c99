// SPDX-License-Identifier: Apache-2.0
// A node of the dependency graph: one enqueued command (or user event), what it waits for, its
// state and times. Reference counted. The log's lock guards what is not said to be otherwise;
// status and times may be read by any thread.
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

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/api/backend.h"
#include "base/ref_counted.h"
#include "base/small_vector.h"
#include "scheduler/command/command.h"
#include "scheduler/command/command_group.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/device_load.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/order/buffer_uses.h"

namespace tutti::scheduler {

class EarlyRead;
class LaunchBatch;
class Stream;
struct CommandTrace;
struct Node;

/// Commands on the way of one: mostly so few that the list needs no memory of its own.
using Nodes = SmallVector<Ref<Node>, 4>;

/// What a command asks of the engine that it belongs to, and that outlives it.
class NodeOwner {
 public:
  /// Those that the command overtook in its stream, as far as they are not done.
  virtual std::vector<Ref<Node>> overtaken(Node& command) = 0;
  /// Of a direct command, which ends with it; null: a launch is joining it.
  virtual backends::CompletionPtr completion_of(Node& command) = 0;
  /// The vendor has answered that a direct command ended with `status`.
  virtual void finish_direct(const Ref<Node>& command, cl_int status) = 0;
  virtual void add_callback(const Ref<Node>& command, cl_int type, Command::Callback callback) = 0;
  virtual VendorClock& clock(uint32_t backend) = 0;

 protected:
  ~NodeOwner() = default;
};

struct Node final : Command {
  enum class State : uint8_t { kCreated, kWaiting, kRunning, kSubmitting, kDirect, kEnded, kDone };
  /// Whether a read that goes on will be done once more where what it has read is computed anew.
  enum class ReadsAgain : uint8_t { kNo, kMay, kWill };
  /// Who knows when its data are in place.
  enum class Data : uint8_t { kPending, kVendorKnows, kInPlace };
  struct Dependent {
    Ref<Node> command;
    Waits waits;
  };
  struct PendingCallback {
    cl_int type;
    Callback callback;
  };

  Node(NodeOwner& belongs_to, cl_command_type type, Work what);
  ~Node() override;

  cl_int status() override;
  CommandTimes times() override;
  void add_callback(cl_int type, Callback callback) override;

  /// status() of this command alone, whatever it overtook.
  cl_int poll();
  bool timed() const { return queued.load(std::memory_order_relaxed) != 0; }
  /// A batch that others have joined.
  bool several() const { return is_batch && number != newest_number; }
  bool done() const { return shown_status.load(std::memory_order_acquire) <= CL_COMPLETE; }
  void read_vendor_times();

  // ---- what was asked, and what became of it
  NodeOwner& owner;
  Work work;  // until done
  std::atomic<cl_int> shown_status{CL_QUEUED};
  // Nanoseconds of the steady clock, each 0 until then. Reading the clock takes as long as much of
  // a small command: where `queued` stays 0, nobody will ask for its times, and none are taken.
  std::atomic<uint64_t> queued{0}, submitted{0}, started{0}, ended{0};
  std::shared_ptr<CommandTrace> trace;  // null: not traced; constant once enqueued
  bool observed = true;                 // somebody may ask for this very command's end
  Expectation expected;                 // constant once started

  // ---- the graph
  State state = State::kCreated;
  Ref<Stream> stream;       // until done
  bool awaited = false;     // a thread waits to execute it: it is not given to a worker
  bool watched = false;     // a worker waits for its completion
  bool held_back = false;   // waited for other streams when it was enqueued
  uint32_t unfinished = 0;  // dependencies not done, +1 while being linked
  cl_int dependency_error = CL_SUCCESS;
  // A failure spoils what a command should have written, and what depends on it by name should
  // have. But an event that the application itself ends with an error only calls commands off.
  bool spoils = false;             // it has failed so
  bool dependency_spoils = false;  // what it depended on has
  bool names = false;              // the application has given it a wait list; constant
  bool refused = false;            // the call that enqueued it returned an error: nothing is new
  SmallVector<Ref<CommandGroup>, 1> groups;  // it is of these, or what has joined it is
  bool ends_group = false;           // it fails if one of its group has; constant once enqueued
  cl_int joined_error = CL_SUCCESS;  // direct, its completion not telling: of what has joined it
  std::vector<Dependent> dependents;
  std::vector<PendingCallback> callbacks;
  // Those that hold a RangeUse of this command.
  SmallVector<Ref<LogicalBuffer>, 4> used_buffers;
  BufferUses exact_uses;  // looked at again, since something of them has failed
  // Of those that overtook others, and those behind them: the one before in the stream, until that
  // is done.
  Ref<Node> after;
  bool overtook = false;             // `after` is or was set; constant once enqueued
  cl_int ended_status = CL_SUCCESS;  // of kEnded
  std::atomic<Data> data{Data::kPending};
  std::atomic<ReadsAgain> reads_again{ReadsAgain::kNo};  // kWill: once `behind` have ended

  // ---- in a vendor's hands: written once before `direct` is set, but for a batch's completion,
  // which changes while it is open
  std::atomic<bool> direct{false};
  uint32_t backend = kNoBackend;
  std::vector<SentRange> sent;  // content went to its device ahead of it
  bool sampled = false;         // a kernel whose time the performance model wants
  backends::CompletionPtr completion;
  // Until done: the vendor lets it begin when these have ended, however. Of other streams; of a
  // batch also the newest of its events, and of that what its batch was behind before.
  Nodes behind;

  bool handed_back = false;  // the vendor has refused it: it has not begun
  bool runs_again = false;   // it has failed there, and a thread carries it out
  bool ending = false;       // a thread ends it: none carries it out any more

  // ---- conducted
  // It lacks memory on a device: it has begun nothing yet, and others may evict what it will use.
  // Changed by who executes it only.
  bool allocating = false;
  bool chained = false;              // runs behind a split already, as far as data allow
  bool behind_split = false;         // a short whole launch that may be chained when its turn comes
  std::shared_ptr<EarlyRead> early;  // of a read that has begun behind a split

  // ---- joined by others
  bool is_batch = false;               // others may join, or have; constant once direct
  std::shared_ptr<LaunchBatch> batch;  // until done; null: it is none
  bool of_batch = false;               // an event of one; constant once enqueued
  Ref<Node> event_of;                  // that batch, until this is done
  bool told_well = false;              // an event of the batch has been seen to end well
  bool open = false;                   // further launches may join
  bool idle = false;                   // CommandLog::make_idle()
  bool touched = false;   // others have used its buffers since something joined it by a look
  uint64_t releases = 0;  // of the log, when it was appended
  // Commands are numbered in the order in which they are enqueued; 0: it was not. Of a batch the
  // first one that joined, and the last.
  uint64_t number = 0, newest_number = 0;
  // What reads that have joined write in the host's memory, and what lies between; until it is
  // idle.
  HostUse joined_reads{.writes = true};
};

/// Every command that an engine has given away is one.
inline Node& node_of(Command& command) { return static_cast<Node&>(command); }

}  // namespace tutti::scheduler
