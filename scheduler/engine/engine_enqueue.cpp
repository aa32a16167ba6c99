// SPDX-License-Identifier: Apache-2.0
// What becomes of a command that is enqueued: handed to a vendor's queue at once, done at once, or
// left to the conductor, behind what it must wait for.
#include <algorithm>

#include "base/clock.h"
#include "scheduler/engine/engine_impl.h"

namespace tutti::scheduler {
namespace {

// Host work up to this size is done at once by the enqueuing thread; more would make an enqueue
// that shall not block take too long (1 MiB is some 100 µs of copying), but where it would block
// without us, too: on devices that compute in the thread that enqueues.
constexpr uint64_t kInlineBytes = 1 << 20;

// Launches that are expected to take longer are not run in the calling thread, where that could
// give work to other devices meanwhile; what another thread costs is lost in them.
constexpr double kTooLongForTheCaller = 5e-3;

// So little content is put into the host's copy, rather than behind kernels that keep the buffer's
// device busy for so long: who uses it next may then run elsewhere.
constexpr uint64_t kLittleBytes = 4096;
constexpr double kLongBusy = 1e-3;

// A whole launch for which nobody behind it would look for another device, in seconds.
constexpr double kShort = 1e-3;

uint64_t bytes_of(const std::vector<BufferUse>& uses) {
  uint64_t bytes = 0;
  for (const BufferUse& use : uses) bytes += use.end - use.begin;
  return bytes;
}

}  // namespace

// What to do with a command that is being enqueued.
struct Engine::Impl::Decision {
  enum class Path : uint8_t { kDirect, kInline, kConducted };
  Path path = Path::kConducted;
  uint32_t backend = kNoBackend;
  std::vector<BufferUse> uses;
  std::vector<backends::CompletionPtr> wait;
  std::vector<Ref<Stream>> flush;         // streams of `wait`: nobody else may flush them in time
  backends::CompletionPtr completion;     // of work that is only order: it ends with this
  uint32_t lacks_memory_on = kNoBackend;  // conducted for that reason alone
  bool to_host = false;                   // inline: the content goes to the host's copy
};

bool Engine::Impl::in_one_memory(const LogicalBuffer& buffer) const {
  return backends.real_count() == 1 && buffer.place_on(0) == kHostPlace;
}

bool Engine::Impl::all_synchronous() const {
  if (backends.memory_apart()) return false;
  for (uint32_t i = 0; i < backends.real_count(); ++i) {
    if (!backends.traits(i).synchronous) return false;
  }
  return true;
}

void Engine::Impl::poll(std::span<const Edge> edges) {
  for (const Edge& edge : edges) edge.command->status();
}

Engine::Impl::Decision Engine::Impl::decide(const Ref<Command>& command, Stream& stream,
                                            std::span<const Edge> edges, const KernelPlan* plan,
                                            bool overtakes) {
  using State = Command::State;
  using Path = Decision::Path;
  Decision decision;
  const auto wait_for = [&decision, &stream](Command& before) TUTTI_REQUIRES(log.mutex()) {
    if (before.stream_.get() == &stream) return;  // the vendor's queue keeps that order
    before.open_ = false;
    decision.wait.push_back(before.completion_);
    decision.flush.push_back(before.stream_);
  };
  const Work& work = command->work_;
  decision.uses = uses_of(work, plan);
  // A trial is measured as a split is: by its own end.
  if (plan && (plan->split || plan->why == KernelPlan::Why::kTrial)) return decision;
  const bool others = plan && (plan->participants.size() > 1 || plan->lacking != 0);
  if (others && backends.traits(plan->backend).synchronous &&
      (overtakes || plan->whole_seconds > kTooLongForTheCaller)) {
    return decision;
  }

  if (!edges.empty() && direct.only_order(work)) {
    // Ends with what it waits for, when that is one direct command.
    Command& before = *edges.front().command;
    const bool one = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      return edge.command == edges.front().command;
    });
    if (one && before.state_ == State::kDirect && !before.after_) {
      decision.path = Path::kDirect;
      decision.backend = before.backend_;
      before.open_ = false;
      decision.completion = before.completion_;
    }
    return decision;
  }

  // All that is unfinished must be on one device, and that the one where this can run.
  uint32_t backend = plan ? plan->backend : kNoBackend;
  for (const Edge& edge : edges) {
    Command& before = *edge.command;
    if (before.state_ != State::kDirect) return decision;
    if (before.after_ && edge.waits != Waits::kData) return decision;
    if (backend == kNoBackend) backend = before.backend_;
    if (before.backend_ != backend) return decision;
    wait_for(before);
  }
  if (backend == kNoBackend && !decision.uses.empty() && !std::holds_alternative<MapWork>(work) &&
      !std::holds_alternative<UnmapWork>(work)) {
    const BufferUse& first = decision.uses.front();
    const Place place =
        executor.overwrites(work)
            ? executor.place_of_write(*first.buffer, first.begin, first.end).value_or(kHostPlace)
            : executor.preferred_place(*first.buffer, first.begin, first.end);
    if (place != kHostPlace) {
      backend = place - 1;
    } else if (in_one_memory(*first.buffer) && !all_synchronous() &&
               bytes_of(decision.uses) > kInlineBytes) {
      // Its own queue moves that as it would without us, and what follows needs no other thread.
      backend = 0;
    }
  }
  if (overtakes && backend != kNoBackend && executor.overwrites(work) &&
      bytes_of(decision.uses) <= kLittleBytes && planner.busy_seconds(backend) > kLongBusy) {
    decision.to_host = true;
    backend = kNoBackend;
  }
  const auto conflicts = log.conflicts(*command, decision.uses);
  const bool possible = backend != kNoBackend && (plan ? direct.possible(decision.uses, backend)
                                                       : direct.possible(work, backend));
  if (backend == kNoBackend || (edges.empty() && !plan && !possible)) {
    const bool at_once =
        edges.empty() && conflicts.empty() && !plan && !std::holds_alternative<HostWork>(work) &&
        (bytes_of(decision.uses) <= kInlineBytes || all_synchronous() || direct.only_order(work));
    if (at_once) decision.path = Path::kInline;
    return decision;
  }
  if (!possible) return decision;
  if (backends.traits(backend).reads_ahead && log.reads_what_is_written(stream, work)) {
    return decision;
  }
  if (plan && direct.sends(decision.uses, backend)) {
    for (BufferUse& use : decision.uses) use.writes = true;
  }
  for (const auto& other : log.conflicts(*command, decision.uses)) {
    if (other->state_ != State::kDirect || other->backend_ != backend) return decision;
    wait_for(*other);
  }
  if (!allocated(decision.uses, {&backend, 1})) {
    decision.lacks_memory_on = backend;
    return decision;
  }
  decision.path = Path::kDirect;
  decision.backend = backend;
  return decision;
}

Result<Ref<Command>> Engine::Impl::submit(const Ref<Command>& command, Stream& stream,
                                          const Decision& decision, const KernelPlan* plan) {
  command->submitted_.store(now_ns(), std::memory_order_relaxed);
  backends::CompletionPtr completion = decision.completion;
  for (const auto& other : decision.flush) {
    // A failure shows in the commands themselves.
    for (auto* queue : other->existing_queues(decision.backend)) static_cast<void>(queue->flush());
  }
  if (!completion) {
    if (plan && !command->is_batch_ && !command->sampled_) {
      const uint64_t key = model_key(std::get<KernelWork>(command->work_));
      command->sampled_ = model.wants_sample(key, decision.backend);
    }
    if (plan) expect(*command, stream, *plan);
    // A trace wants the times of all, and so does the account of energy.
    const bool traced = command->trace_ != nullptr;
    auto submitted = direct.submit(command->work_, stream, decision.backend, decision.wait,
                                   {.times = command->sampled_ || traced,
                                    .own_end = command->observed_ || traced,
                                    .uses = decision.uses,
                                    .trace = command->trace_.get()});
    if (!submitted) {
      command->observed_ = true;  // by the caller
      log.finish(command, submitted.error().code);
      return tl::unexpected<Error>(std::move(submitted).error());
    }
    completion = std::move(*submitted);
  }
  if (plan && summary.enabled()) {
    const auto& work = std::get<KernelWork>(command->work_);
    summary.launched_whole(work, *plan, decision.backend);
  }
  bool somebody_waits = false;
  Ref<Command> observed = command;
  // What has overtaken others shows its end with theirs, which an event knows nothing of.
  const bool apart = command->is_batch_ && command->observed_ && !command->overtook_;
  if (apart) observed = make_ref<Command>(*this, command->type_, MarkerWork{});
  // An application that launches and launches would otherwise let the log grow until it waits.
  Ref<Command> before;
  {
    MutexLock lock(log.mutex());
    if (apart) {
      log.take_batch_event(stream, *command, *observed, decision.backend, completion);
      command->observed_ = false;
    } else if (command->observed_) {
      command->open_ = false;  // its end is asked for
    }
    somebody_waits = log.set_direct(*command, decision.backend, std::move(completion));
    before = command->sampled_ ? log.exchange_sampled(stream, command) : log.in_a_crowd(stream);
  }
  if (somebody_waits) watch(command);
  if (before) finish_if_ended(before);
  return observed;
}

bool Engine::Impl::behind_split(std::span<const Edge> edges, const KernelPlan* plan) {
  if (!plan || plan->split || !plan->exact || edges.size() != 1) return false;
  if (plan->whole_seconds - plan->wait_seconds > kShort) return false;
  const Command& before = *edges.front().command;
  return before.behind_split_ || split_of(before);
}

uint64_t Engine::Impl::earliest(const Stream& stream) {
  // Elsewhere the data say it.
  const bool strict = stream.options().profiling && !stream.options().out_of_order;
  return strict ? stream.expected_end_ns.load(std::memory_order_relaxed) : 0;
}

void Engine::Impl::expect(Command& command, Stream& stream, const KernelPlan& plan) {
  command.expected_ = planner.begin(std::get<KernelWork>(command.work_), plan);
  if (command.expected_.devices == 0) return;
  stream.expected_end_ns.store(command.expected_.end_ns, std::memory_order_relaxed);
}

Result<Ref<Command>> Engine::Impl::enqueue(Stream& stream, Ref<Command> command,
                                           const EnqueueOptions& options,
                                           std::optional<KernelPlan> plan) {
  using Path = Decision::Path;
  if (const auto* work = std::get_if<KernelWork>(&command->work_); work && !plan) {
    TUTTI_ASSIGN(plan, planner.plan(*work, stream.options().backends, earliest(stream)));
  }
  const uint64_t planned_ns = command->trace_ ? now_ns() : 0;
  const KernelPlan* plan_or_null = plan ? &*plan : nullptr;
  std::vector<Ref<Command>> to_watch;
  Decision decision;
  bool start_now = false;
  Ref<Command> splitting;  // which the command might be chained to
  Awaited waits;           // of a traced command
  if (log.any_idle()) end_idle(&stream);
  for (bool polled = false, tried = false, planned_again = false;;) {
    cl_int error = CL_SUCCESS;
    MutexLock lock(log.mutex());
    auto edges = log.prerequisites(stream, options.wait_list, options.waits_for_all, &error);
    if (error != CL_SUCCESS) {
      log.append(stream, command, options.barrier);
      lock.unlock();
      if (command->trace_) trace.enqueued(*command->trace_, awaited(edges, options.wait_list));
      log.finish(command, error);
      return command;
    }
    decision = decide(command, stream, edges, plan_or_null);
    if (decision.path == Path::kConducted && !edges.empty() && !polled) {
      // What seems unfinished may have ended on the vendor's side.
      lock.unlock();
      poll(edges);
      polled = true;
      continue;
    }
    bool overtakes = false;
    const bool conducted = decision.path == Path::kConducted;
    // What fills or copies behind a kernel would bind what comes next to the kernel's device.
    if (!edges.empty() && (conducted || (!plan && backends.real_count() > 1))) {
      const auto uses = uses_of(command->work_, plan_or_null);
      auto needed = log.edges_of_data(stream, *command, edges, uses);
      // To overtake what begins behind a split, only to wait for all of that one, gains nothing.
      const bool chained = behind_split(edges, plan_or_null) && needed && !needed->empty() &&
                           std::all_of(needed->begin(), needed->end(),
                                       [](const Edge& edge) { return edge.waits == Waits::kData; });
      if (needed && !chained) {
        Decision other = decide(command, stream, *needed, plan_or_null, true);
        overtakes =
            conducted || (other.path != Path::kConducted &&
                          (other.path != decision.path || other.backend != decision.backend));
        if (overtakes) {
          edges = std::move(*needed);
          decision = std::move(other);
        }
      } else if (plan && plan->moved && !stream.options().out_of_order && !planned_again) {
        // There it would only wait.
        lock.unlock();
        const uint64_t ready = stream.expected_end_ns.load(std::memory_order_relaxed);
        TUTTI_ASSIGN(plan, planner.plan(std::get<KernelWork>(command->work_),
                                        stream.options().backends, ready));
        planned_again = true;
        continue;
      }
    }
    if (decision.lacks_memory_on != kNoBackend && !tried) {
      lock.unlock();
      allocate_what_fits(decision.uses, decision.lacks_memory_on);
      tried = true;
      continue;
    }
    if (command->trace_) {
      waits = awaited(edges, options.wait_list);
      if (decision.path == Path::kDirect) {
        for (const auto& other : log.conflicts(*command, decision.uses)) {
          waits.add(other->trace_.get(), Waits::kData);
        }
      }
    }
    if (overtakes) log.overtake(stream, *command, to_watch);
    if (decision.path == Path::kConducted) {
      log.append(stream, command, options.barrier);
      log.link(*command, edges, to_watch);
      start_now = log.unguard(*command);
      splitting = split_before(command->work_, edges);
      command->behind_split_ = behind_split(edges, plan_or_null);
    } else {
      command->state_ =
          decision.path == Path::kDirect ? Command::State::kSubmitting : Command::State::kRunning;
      command->backend_ = decision.backend;
      log.append(stream, command, options.barrier);
      log.hold(*command, decision.uses);
    }
    break;
  }
  if (command->trace_) trace.enqueued(*command->trace_, waits);
  for (auto& before : to_watch) watch(std::move(before));
  switch (decision.path) {
    case Path::kDirect:
      if (plan && command->trace_) {
        trace.decided(*command->trace_, std::get<KernelWork>(command->work_), *plan,
                      command->queued_.load(std::memory_order_relaxed), planned_ns);
      }
      return submit(command, stream, decision, plan_or_null);
    case Path::kInline:
      log.set_running(command);
      if (decision.to_host) executor.overwrite_at_host(command->work_);
      log.finish(command, code_of(execute(*command)));
      break;
    case Path::kConducted:
      if (start_now) ready(command);
      if (splitting) {
        conductor.post([this, before = std::move(splitting), kernel = plan.has_value()] {
          kernel ? chain_next(before) : read_early(before);
        });
      }
      break;
  }
  return command;
}

}  // namespace tutti::scheduler
