// SPDX-License-Identifier: Apache-2.0
// The dependency graph of all unfinished commands: who waits for whom, which ranges of which
// buffers started commands use, and what follows when one ends. One lock guards it; it is never
// held while a vendor, a callback or the sink is called, nor when the last reference of a command
// or of a vendor's object goes (LogMutex::retire).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/live_counters.h"
#include "base/thread_annotations.h"
#include "scheduler/order/buffer_uses.h"
#include "scheduler/order/log_mutex.h"
#include "scheduler/order/node.h"
#include "scheduler/order/stream.h"

namespace tutti::scheduler {

/// Where the log's consequences go. Called with no lock held, from any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// Every dependency of the command is done: it may be started.
  virtual void ready(Ref<Node> command) = 0;
  /// Somebody depends on a direct command: wait for it and finish it.
  virtual void watch(Ref<Node> command) = 0;
  virtual void call_back(Command::Callback callback, cl_int status) = 0;
};

/// A prerequisite of a command.
struct Edge {
  Ref<Node> command;
  Waits waits = Waits::kOrder;
};
using Edges = SmallVector<Edge, 4>;

class CommandLog {
 public:
  explicit CommandLog(LogSink& sink) : sink_(sink) {}

  LogMutex& mutex() TUTTI_RETURN_CAPABILITY(mutex_) { return mutex_; }

  /// The unfinished prerequisites of `command`, which would be appended to `stream` now. Where a
  /// named one has already failed, its dependency_error says so.
  Edges prerequisites(Stream& stream, std::span<Command* const> wait_list, bool waits_for_all,
                      Node& command) TUTTI_REQUIRES(mutex_);
  /// `gathers`: the command waits for all before it.
  void append(Stream& stream, const Ref<Node>& command, bool barrier, bool gathers = false)
      TUTTI_REQUIRES(mutex_);
  /// What an out-of-order stream gets from now on waits for `command`, which `gathers`, or not.
  void set_barrier(Stream& stream, const Ref<Node>& command, bool gathers) TUTTI_REQUIRES(mutex_);
  /// What a command must wait for that shall run before what is unfinished in its in-order stream:
  /// of that, what uses the same bytes as its `uses`; and those of `edges` that are not the
  /// stream's order. Absent where it must, or may as well, wait for its turn.
  std::optional<Edges> edges_of_data(const Stream& stream, const Node& command,
                                     std::span<const Edge> edges, std::span<const BufferUse> uses)
      TUTTI_REQUIRES(mutex_);
  /// What a command must wait for that is given to the device that has all of its in-order stream
  /// that goes on, if anything does, where some of that has ended and does not show it yet; and
  /// those of `edges` that are not the stream's order. Absent where it is not so. It overtakes
  /// nothing that goes on.
  std::optional<Edges> edges_of_queue(const Stream& stream, std::span<const Edge> edges)
      TUTTI_REQUIRES(mutex_);
  /// Whether something unfinished in the stream writes memory of the application that `work` reads.
  bool reads_what_is_written(const Stream& stream, const Work& work) TUTTI_REQUIRES(mutex_);
  /// Whether `command`, or a read that has joined it, must keep its order with what uses the host's
  /// memory so.
  static bool meets_in_host_memory(const HostUse& use, const Node& command);
  /// For a command that is appended next: it is not done before those it overtakes. One of these
  /// may be added to `watch`.
  void overtake(Stream& stream, Node& command, Nodes& watch) TUTTI_REQUIRES(mutex_);
  /// Those that an overtaking command is not done before, the oldest first.
  std::vector<Ref<Node>> overtaken(const Node& command) TUTTI_EXCLUDES(mutex_);
  /// Makes `command` wait for `edges`; state kWaiting. Direct ones among them that nobody waits for
  /// yet are appended to `watch` (unless the command's own thread will wait).
  void link(Node& command, std::span<const Edge> edges, Nodes& watch) TUTTI_REQUIRES(mutex_);
  /// Drops the guard that link() left; true when nothing is left to wait for.
  bool unguard(Node& command) TUTTI_REQUIRES(mutex_);
  /// The kernel that waits for nothing but its turn behind `command`, in an in-order stream without
  /// times; null: there is none.
  Ref<Node> next_kernel(const Node& command) TUTTI_REQUIRES(mutex_);
  /// The same for a command of any kind, with times or without.
  static Ref<Node> next_command(const Node& command);

  /// What waits in `before`'s in-order stream for nothing but that, which is direct; null: nothing,
  /// or a thread waits to execute it.
  static Ref<Node> next_waiting(const Node& before);
  /// `next`, as next_waiting() says, waits no more. True when others do, or callbacks; else nobody
  /// need watch `before` any more.
  bool detach(Node& before, Node& next) TUTTI_REQUIRES(mutex_);
  /// A command that has waited is handed to the device's queue by a thread of the engine.
  void set_submitting(Node& command, uint32_t backend) TUTTI_REQUIRES(mutex_);
  /// It has been: calls back who waits for that.
  void call_back_submitted(const Ref<Node>& command) TUTTI_EXCLUDES(mutex_);

  /// Started commands, other than `self`, whose uses of buffers meet `uses`. `devices`: to whose
  /// memory it may bring something; none for transfers that go wherever Executor says, which is no
  /// device with a late package. `queue`: the device to whose queue it is given at once; none: it
  /// is not.
  Nodes conflicts(const Node& self, std::span<const BufferUse> uses,
                  BackendMask devices = ~BackendMask{0}, uint32_t queue = kNoBackend)
      TUTTI_REQUIRES(mutex_);
  /// Whether what is given to that device's queue need not wait for `other`, which the device has
  /// already: both find the data there, and between queues of one device there is no order but what
  /// the application has asked for, and the vendor knows.
  static bool ordered_by_application(const BufferUse& use, const RangeUse& other, uint32_t queue);
  /// The command has started: its uses are in force until it is done. A use by an earlier command
  /// of the same stream on the same device is merged into it: the vendor's queue keeps that order.
  void hold(Node& command, std::span<const BufferUse> uses) TUTTI_REQUIRES(mutex_);

  /// `late` stands for a package of `launch` on the device that goes on when the launch has ended
  /// without it: until it is done, nothing new comes where the package reads or writes. In memory
  /// that devices share, who only reads does not wait for it; in memory of the device alone, nobody
  /// does who does not bring anything there. False, and it holds nothing: something else has begun
  /// that does. `alone`: what has begun comes to the device's memory after it only.
  bool hold_late(Node& late, std::span<const BufferUse> uses, uint32_t backend, const Node& launch,
                 bool alone) TUTTI_REQUIRES(mutex_);

  /// A submitting command became direct. True when somebody must watch it.
  bool set_direct(Node& command, uint32_t backend, backends::CompletionPtr completion)
      TUTTI_REQUIRES(mutex_);
  /// Back from direct to submitting, for what joins it: until set_direct().
  static void reopen(Node& batch);
  /// The command, or what joins the batch, is of the group, unless null. Under the lock where
  /// others know the command.
  static void join_group(Node& command, CommandGroup* group);
  /// Whether it is, or null.
  static bool is_of_group(const Node& command, const CommandGroup* group) {
    return group == nullptr || (!command.groups.empty() && command.groups.back().get() == group);
  }
  /// A read has joined, which writes there in the host's memory.
  void join_host_use(Stream& stream, Node& batch, const HostUse& use) TUTTI_REQUIRES(mutex_);

  /// The in-order stream's newest command, if it and with it all before it are in the vendor's
  /// hands on one device. Null otherwise.
  Ref<Node> newest_direct(Stream& stream) TUTTI_REQUIRES(mutex_);
  /// Whether the vendor's queue keeps the order between `command`, which is in it or is to be, and
  /// `other`, for which it would otherwise have to wait.
  static bool ahead_of(const Node& command, const Node& other);
  /// Whether all that is unfinished in the stream is `newest`, or ahead of it.
  static bool all_ahead_of(const Stream& stream, const Node& newest);
  /// Nothing of the stream is unfinished.
  bool is_idle(Stream& stream) TUTTI_REQUIRES(mutex_);
  /// Whether all have ended well, or are in the vendor's hands and before what the in-order stream
  /// gets next.
  bool are_ahead(const Stream& stream, std::span<Command* const> commands) TUTTI_REQUIRES(mutex_);
  /// For a read that is not part of its stream's order, which the vendor's queue keeps: holds what
  /// it uses if nothing stands in its way but what is ahead of it in the queue of `before`, if any.
  bool hold_behind(Stream& stream, const Node* before, const Ref<Node>& read,
                   std::span<const BufferUse> uses) TUTTI_REQUIRES(mutex_);

  /// Whether something that the command comes behind is not known to have ended.
  static bool waits_behind(const Node& command);
  /// All of that has ended.
  void let_go_behind(Node& command) TUTTI_REQUIRES(mutex_);

  /// All that has joined the batch has ended well, and the application has waited for it. It is
  /// kept for launches to come, and in nobody's way: an application that launches and waits, again
  /// and again, has one command for all of that, too.
  void make_idle(Node& batch) TUTTI_REQUIRES(mutex_);
  /// It is no more, since something joins it.
  void wake(Node& batch) TUTTI_REQUIRES(mutex_);
  /// Something joins the batch, which comes after all commands that there are.
  void number_anew(Node& batch) TUTTI_REQUIRES(mutex_) { batch.newest_number = ++last_number_; }
  /// The application has released nothing that commands use since this one was appended.
  bool nothing_released_since(const Node& command) TUTTI_REQUIRES(mutex_) {
    return command.releases == releases_;
  }
  bool any_idle() const { return idle_count_.load(std::memory_order_relaxed) != 0; }
  /// Batches that rest, of one stream or, where the application has released something, all: they
  /// do so no more, and are to be finished by who asks.
  std::vector<Ref<Node>> take_idle(const Stream* stream) TUTTI_EXCLUDES(mutex_);

  /// What to ask for a direct command's end; closes a batch. Null while a launch is joining.
  backends::CompletionPtr completion_of(Node& command) TUTTI_EXCLUDES(mutex_);
  /// The same, but of a batch what its launches so far end with: more may join.
  backends::CompletionPtr completion_so_far(const Node& command) TUTTI_EXCLUDES(mutex_);

  /// State kRunning and status CL_RUNNING; calls back through the sink after the lock is gone.
  void set_running(const Ref<Node>& command) TUTTI_EXCLUDES(mutex_);

  /// A direct command, or something that has joined it, has failed, of which its completion does
  /// not tell.
  void note_unseen(Node& command, cl_int error) TUTTI_REQUIRES(mutex_);
  /// A vendor's queue of the stream has failed: of its direct commands only who has an event of its
  /// own can say whether it is the one.
  void note_queue_failed(Stream& stream, uint32_t backend, cl_int error) TUTTI_EXCLUDES(mutex_);
  /// Waits for all that the stream has given to the device, whose errors reach who has none of
  /// their own: where it refuses a command, something may have been sent ahead. False: some failed.
  bool drain(Stream& stream, uint32_t backend) TUTTI_EXCLUDES(mutex_);
  /// These ranges of the buffer were on a device that is lost, and nowhere else. The bytes of those
  /// of which that was not known.
  uint64_t note_lost(LogicalBuffer& buffer, std::span<const ByteRange> ranges, cl_int error)
      TUTTI_EXCLUDES(mutex_);
  /// Something has failed that commands should have written, now or earlier.
  bool any_failed() const { return any_failed_.load(std::memory_order_relaxed); }

  /// The command has ended with CL_COMPLETE or an error; its data is in place. Wakes waiters,
  /// queues callbacks, starts dependents, and fails those that a failure reaches; of a command that
  /// overtook others, all but who waits for its data alone only once those are done. Once per
  /// command; later calls do nothing. Walks a list: long chains do not use stack.
  void finish(const Ref<Node>& command, cl_int status) TUTTI_EXCLUDES(mutex_);

  /// Takes the callback, for when the command's status is `type` or past that. Where it is already,
  /// leaves it alone, and returns what to call it back with now.
  std::optional<cl_int> add_callback(const Ref<Node>& command, cl_int type,
                                     Command::Callback& callback) TUTTI_EXCLUDES(mutex_);

  /// A stream's oldest command that is not known to be done, if it is a direct one; else null.
  Ref<Node> oldest_direct(Stream& stream) TUTTI_REQUIRES(mutex_);
  /// `command` is now the stream's newest one whose own end is measured. Returns the one before.
  Ref<Node> exchange_sampled(Stream& stream, Ref<Node> command) TUTTI_REQUIRES(mutex_);
  /// Now and then, where a stream has many commands that are not known to be done, the oldest of
  /// them; else null.
  Ref<Node> in_a_crowd(Stream& stream) TUTTI_REQUIRES(mutex_);
  /// Forgets the oldest of the stream's commands that are done.
  void drop_done(Stream& stream) TUTTI_REQUIRES(mutex_);
  /// A stream's commands that are not known to be done.
  std::vector<Ref<Node>> outstanding(Stream& stream) TUTTI_EXCLUDES(mutex_);

 private:
  void count_wait(const Node& command, uint64_t now) TUTTI_REQUIRES(mutex_);
  /// Takes out the callbacks that `shown` is reached for, in the order in which they are due.
  std::vector<Node::PendingCallback> take_due(Node& command, cl_int shown) TUTTI_REQUIRES(mutex_);
  void release_uses(Node& command) TUTTI_REQUIRES(mutex_);
  void note_end(Node& command) TUTTI_REQUIRES(mutex_);
  /// The groups of `command` are told of its error.
  static void note_in_groups(const Node& command, cl_int error);
  /// `command` named `before`, which has failed.
  static void fail_with(Node& command, const Node& before);
  /// The command ends with `status`, which becomes an error where it has read what has failed.
  void note_failure(Node& command, cl_int& status) TUTTI_REQUIRES(mutex_);

  LogSink& sink_;
  live::Header* const live_ = live::process();  // null: nobody counts
  LogMutex mutex_{reopen};
  uint64_t last_use_ TUTTI_GUARDED_BY(mutex_) = 0;  // of any buffer
  uint64_t last_number_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t releases_ TUTTI_GUARDED_BY(mutex_) = 0;  // of anything that commands use
  std::vector<Ref<Node>> idle_batches_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<size_t> idle_count_{0};  // so many
  std::atomic<bool> any_failed_{false};
};

}  // namespace tutti::scheduler
