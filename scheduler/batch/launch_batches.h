// SPDX-License-Identifier: Apache-2.0
// Many small launches as one command: a layer above the log that the engine does without where
// TUTTI_BATCHES is off. An application that launches one small kernel after the other gets one
// command for all of them, a launch batch, and the vendor's queue alone keeps order. Where it asks
// for an event there is one more, which knows of nothing but that launch's end. Of launches that
// look the same one in many is planned, and one that differs from an earlier one in numbers only is
// given to the vendor without a look at anything else. Thread-safe.
//
// Three calls: try to repeat(), try to join(), close(). A batch that is waited for is made idle.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/clock.h"
#include "scheduler/batch/launch_batch.h"
#include "scheduler/command/enqueue_options.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/order/command_log.h"
#include "scheduler/run/direct_path.h"
#include "scheduler/run/executor.h"

namespace tutti::scheduler {

class LaunchBatches {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    LogSink& sink;
    NodeOwner& owner;
    Planner& planner;
    PerformanceModel& model;
    RunSummary& summary;
    DirectPath& direct;
    const Executor& executor;
  };
  explicit LaunchBatches(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// As Engine::launch_again().
  std::optional<Status> repeat(Stream& stream, const LaunchAgain& launch, LaunchObserver* observer);

  /// What has become of a launch on an in-order stream that waits for its turn only.
  struct Joining {
    bool joined = false;
    Ref<Node> event{};  // what is observed of it; null: nobody does
    // Not joined: it is a command of its own, of this plan.
    std::optional<KernelPlan> plan{};
    bool sampled = false;                   // the model wants its time
    std::shared_ptr<LaunchBatch> begins{};  // what others may join; null: nothing
  };
  Result<Joining> join(Stream& stream, const KernelWork& work, const EnqueueOptions& options);

  /// Of larger ones the transfer takes the time, which other ways do better.
  static constexpr uint64_t kSmallBytes = 64 << 10;
  /// As far as the work itself tells.
  static bool may_join(const Work& work);
  /// A small write, fill, copy or read (one that nobody waits for or observes) that waits for its
  /// turn only joins the batch that it comes after; so does a marker that names nothing, or, where
  /// nobody observes it, what its device has in other queues. What is observed of it, or null.
  /// Absent: it has not joined.
  std::optional<Result<Ref<Node>>> join(Stream& stream, const Work& work,
                                        const EnqueueOptions& options);

  /// Ends what is idle in the stream, or null: everywhere, since the application has released
  /// something.
  void close(const Stream* stream);

  /// When what is observed was enqueued and given to the vendor, in nanoseconds of the steady
  /// clock; 0: nobody may ask.
  struct Begun {
    uint64_t queued_ns = 0, submitted_ns = 0;
  };
  /// What is observed of a command that joins a batch, or begins it.
  static Ref<Node> new_event(NodeOwner& owner, cl_command_type type, const Begun& begun,
                             CommandGroup* group, bool ends_group);
  /// Somebody observes what has joined the batch last, or begun it, which ends with `completion`.
  static void take_event(CommandLog& log, Stream& stream, Node& batch, Node& event,
                         uint32_t backend, backends::CompletionPtr completion)
      TUTTI_REQUIRES(log.mutex());

  /// Waits for the stream, all of which is in one device's hands and ends with a batch that is idle
  /// then. False: it is not so, or not yet known to have ended well.
  bool finish(Stream& stream);
  /// Makes the batch idle that is all of the stream and known to have ended well. False: there is
  /// none.
  bool make_idle(CommandLog& log, Stream& stream) TUTTI_REQUIRES(log.mutex());

 private:
  /// A launch that repeats another one of its batch.
  struct Repeat {
    Node* batch = nullptr;  // lives until end_repeat() at least; null: there is none
    LaunchBatch::Kind* kind = nullptr;
    uint64_t lease = 0;  // 0: the batch is submitting, as of join_node()
  };
  /// A launch like that joins the stream's newest batch, which one like it, but for numbers, has
  /// joined before. Between begin and end it is made. `brief`: only if it is.
  Repeat begin_repeat(Stream& stream, const LaunchAgain& launch, bool brief)
      TUTTI_EXCLUDES(log_.mutex());
  /// It is on its way, with the completion that the batch has now. False: the batch has still to be
  /// made direct.
  bool end_repeat(const Repeat& repeat) TUTTI_EXCLUDES(log_.mutex()) {
    return repeat.lease != 0 && log_.mutex().leave(repeat.lease);
  }

  /// The device has not taken what was to join, which uses `uses`: it is a command of its own,
  /// maybe elsewhere. False: there is no other device, or this one may do it yet, and the error is
  /// the call's.
  bool may_go_elsewhere(Stream& stream, uint32_t backend, const Error& why,
                        std::span<const BufferUse> uses);
  using Completions = SmallVector<backends::CompletionPtr, 4>;
  /// Whether the host's copy takes or gives what the transfer moves, which uses `use`.
  bool host_has(const Work& work, const BufferUse& use) const;
  /// The transfer, or the marker, has joined the batch; false: it may not.
  bool join_transfer(Stream& stream, const Work& work, std::span<const BufferUse> uses,
                     const EnqueueOptions& options, Node& batch) TUTTI_REQUIRES(log_.mutex());
  bool join_marker(Stream& stream, const EnqueueOptions& options, const Ref<Node>& batch,
                   Completions& waits) TUTTI_REQUIRES(log_.mutex());
  /// What the marker names has ended well, or is in the hands of the batch's device: what joins the
  /// batch next comes behind that. The mark in the vendor's queue is to wait for `waits`; none: it
  /// needs no mark. False: it is not so.
  bool come_behind(const Stream& stream, const EnqueueOptions& options, Node& batch,
                   Completions& waits) TUTTI_REQUIRES(log_.mutex());
  /// Whether another launch on its device may join.
  static bool joinable(const Node& batch);
  /// The stream's newest command, when it is a batch that a launch may join; else null.
  static Ref<Node> open_batch(const Stream& stream);
  /// A plan of the stream's newest batch that will do for `work`; null: there is none. `unplanned`
  /// gets how many launches one has done for.
  static std::shared_ptr<const KernelPlan> planned_before(const Stream& stream,
                                                          const KernelWork& work,
                                                          uint32_t& unplanned);
  /// The stream's newest command, if it is a batch that may be idle once everything of the stream
  /// has ended: the application has released nothing since it began. Null: there is none.
  Node* may_be_idle(Stream& stream) TUTTI_REQUIRES(log_.mutex());

  /// Whether the launch is known to take so short that nobody would begin something beside it.
  bool is_brief(const KernelWork& work, uint32_t backend);
  /// What is expected of a launch that has joined and is on its way.
  Expectation joined(const KernelWork& work, const KernelPlan& plan);
  /// The same of one that repeats; none where that is what is expected of its batch already, but
  /// for so little that it is left for a later one.
  Expectation repeated(const Node& batch, LaunchBatch::Kind& kind);
  /// Whether a launch is in a batch only if it is brief: who waits for it waits for the batch, and
  /// what an out-of-order stream gets next might run beside it.
  static bool joins_if_brief(const Stream& stream, bool observed) {
    return observed || stream.options().out_of_order;
  }
  /// Of a launch whose times the application may ask for; none: it may not.
  static Begun begin_now(const Stream& stream, bool observed) {
    const uint64_t now = observed && stream.options().profiling ? now_ns() : 0;
    return {now, now};
  }
  /// Whether nothing but what the vendor's queue sees to stands in the way.
  bool is_free(const Node& batch, std::span<const BufferUse> uses) TUTTI_REQUIRES(log_.mutex());
  /// The stream's batch, which a launch of this plan has joined that uses `uses`; null: it may not.
  Ref<Node> join_launch(Stream& stream, const KernelWork& work, const KernelPlan& plan,
                        std::span<BufferUse> uses, CommandGroup* group)
      TUTTI_REQUIRES(log_.mutex());
  /// What uses `uses` joins the batch, which is no more direct until settle().
  void join_node(Node& batch, std::span<const BufferUse> uses, CommandGroup* group)
      TUTTI_REQUIRES(log_.mutex());
  LaunchBatch::Kind& kind_of(Node& batch, const KernelWork& work,
                             std::shared_ptr<const KernelPlan> plan, uint32_t launches, bool anew)
      TUTTI_REQUIRES(log_.mutex());
  /// `kind`: what the launch belongs to, if its plan lasts; or null.
  Result<Joining> submit(const Ref<Node>& batch, Stream& stream, const KernelWork& work,
                         const KernelPlan& plan, std::span<const BufferUse> uses,
                         LaunchBatch::Kind* kind, const EnqueueOptions& options);
  /// The batch is direct again, and ends with `completion`; the launch that joined may be repeated,
  /// unless null. `event`: what is observed of it, or null.
  void settle(Stream& stream, Node& batch, uint32_t backend, const Expectation& expected,
              backends::CompletionPtr completion, LaunchBatch::Kind* repeatable,
              Node* event = nullptr);
  /// A launch of this kind has joined, and is on its way: the next one may repeat it, until
  /// something else uses the batch's buffers.
  void may_repeat(Stream& stream, Node& batch, LaunchBatch::Kind& kind)
      TUTTI_REQUIRES(log_.mutex());

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
