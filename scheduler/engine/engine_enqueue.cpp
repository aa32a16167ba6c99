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
  bool marks = false;                     // likewise: it ends with a mark
  uint32_t lacks_memory_on = kNoBackend;  // conducted for that reason alone
  bool to_host = false;                   // inline: the content goes to the host's copy
};

void Engine::Impl::poll(std::span<const Edge> edges) {
  for (const Edge& edge : edges) edge.command->status();
}

Engine::Impl::Decision Engine::Impl::decide(const Ref<Node>& command, Stream& stream,
                                            std::span<const Edge> edges, const KernelPlan* plan,
                                            bool overtakes) {
  using State = Node::State;
  using Path = Decision::Path;
  Decision decision;
  const auto wait_for = [&decision, &stream](Node& before) TUTTI_REQUIRES(log.mutex()) {
    if (before.stream.get() == &stream) return;  // the vendor's queue keeps that order
    before.open = false;
    decision.wait.push_back(before.completion);
    decision.flush.push_back(before.stream);
  };
  const Work& work = command->work;
  decision.uses = uses_of(work, plan);
  // A trial is measured as a split is: by its own end.
  if (plan && (plan->split || plan->why == KernelPlan::Why::kTrial)) return decision;
  const bool others = plan && (plan->participants.size() > 1 || plan->lacking != 0);
  if (others && backends.traits(plan->backend).synchronous &&
      (overtakes || plan->whole_seconds > kTooLongForTheCaller)) {
    return decision;
  }

  if (!edges.empty() && direct.only_order(work)) {
    Node& before = *edges.front().command;
    const bool one = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      return edge.command == edges.front().command;
    });
    const bool direct_ones = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
      const Node& other = *edge.command;
      return other.state == State::kDirect && other.backend == before.backend && !other.after;
    });
    if (!direct_ones) return decision;
    if (one && before.stream.get() == &stream) {
      // Ends with that.
      before.open = false;
      decision.completion = before.completion;
    } else {
      // A mark in the stream's queue comes after all that is there, whoever gave it to the queue
      // last, and what follows comes after the mark. But the error of one that was named there
      // would not reach it.
      const bool may = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
        return edge.waits != Waits::kNamed || edge.command->stream.get() != &stream;
      });
      if (!may || !backends.traits(before.backend).markers) return decision;
      for (const Edge& edge : edges) wait_for(*edge.command);
      decision.marks = true;
    }
    decision.path = Path::kDirect;
    decision.backend = before.backend;
    return decision;
  }

  // All that is unfinished must be on one device, and that the one where this can run.
  uint32_t backend = plan ? plan->backend : kNoBackend;
  for (const Edge& edge : edges) {
    Node& before = *edge.command;
    if (before.state != State::kDirect) return decision;
    if (before.after && edge.waits != Waits::kData) return decision;
    if (backend == kNoBackend) backend = before.backend;
    if (before.backend != backend) return decision;
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
    } else if (first.buffer->in_one_memory() && !backends.all_synchronous() &&
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
    const bool at_once = edges.empty() && conflicts.empty() && !plan &&
                         !std::holds_alternative<HostWork>(work) &&
                         (bytes_of(decision.uses) <= kInlineBytes || backends.all_synchronous() ||
                          direct.only_order(work));
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
    if (other->state != State::kDirect || other->backend != backend) return decision;
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

Result<Ref<Node>> Engine::Impl::submit(const Ref<Node>& command, Stream& stream,
                                       const Decision& decision, const KernelPlan* plan,
                                       bool* awaited) {
  command->submitted.store(now_ns(), std::memory_order_relaxed);
  backends::CompletionPtr completion = decision.completion;
  for (const auto& other : decision.flush) {
    // A failure shows in the commands themselves.
    for (auto* queue : other->queues.existing(decision.backend)) static_cast<void>(queue->flush());
  }
  if (!completion) {
    if (plan && !command->is_batch && !command->sampled) {
      const uint64_t key = model_key(std::get<KernelWork>(command->work));
      command->sampled = model.wants_sample(key, decision.backend);
    }
    if (plan) expect(*command, stream, *plan);
    // A trace wants the times of all, and so does the account of energy.
    const bool traced = command->trace != nullptr;
    static const Work kMark = MarkerWork{};
    auto submitted = direct.submit(decision.marks ? kMark : command->work, stream, decision.backend,
                                   decision.wait,
                                   {.times = command->sampled || traced,
                                    .own_end = command->observed || traced,
                                    .uses = decision.uses,
                                    .trace = command->trace.get()});
    if (!submitted) {
      if (!awaited) command->observed = true;  // by the caller
      log.finish(command, submitted.error().code);
      return tl::unexpected<Error>(std::move(submitted).error());
    }
    completion = std::move(*submitted);
  }
  if (plan && summary.enabled()) {
    const auto& work = std::get<KernelWork>(command->work);
    summary.launched_whole(work, *plan, decision.backend);
  }
  bool somebody_waits = false;
  Ref<Node> observed = command;
  // What has overtaken others shows its end with theirs, which an event knows nothing of.
  const bool apart = command->is_batch && command->observed && !command->overtook;
  if (apart) observed = make_ref<Node>(ends, command->type(), MarkerWork{});
  // An application that launches and launches would otherwise let the log grow until it waits.
  Ref<Node> before;
  {
    MutexLock lock(log.mutex());
    if (apart) {
      LaunchBatches::take_event(log, stream, *command, *observed, decision.backend, completion);
      command->observed = false;
    } else if (command->observed) {
      command->open = false;  // its end is asked for
    }
    somebody_waits = log.set_direct(*command, decision.backend, std::move(completion));
    before = command->sampled ? log.exchange_sampled(stream, command) : log.in_a_crowd(stream);
  }
  if (awaited) *awaited = somebody_waits;
  if (somebody_waits && !awaited) ends.watch(command);
  if (before) ends.finish_if_ended(before);
  return observed;
}

// A command that has waited for a user event, another device or another stream, and those behind it
// in its stream: they go to the vendor's queue together, each as if it were enqueued now.
struct Engine::Impl::Waited {
  Ref<Node> command;
  Ref<Stream> stream;
  Decision decision;
  std::optional<KernelPlan> plan;  // of a kernel
};

bool Engine::Impl::start_direct(const Ref<Node>& command, const std::optional<KernelPlan>& plan) {
  if (command->trace || command->overtook) return false;
  Waited waited{command, {}, {}, plan};
  {
    MutexLock lock(log.mutex());
    // A part of what has begun to read is there already, and the rest goes on.
    if (command->state != Node::State::kWaiting || command->early) return false;
    waited.stream = command->stream;
    waited.decision = decide(command, *waited.stream, {}, plan ? &*plan : nullptr);
    if (waited.decision.path != Decision::Path::kDirect) return false;
    log.set_submitting(*command, waited.decision.backend);
    log.hold(*command, waited.decision.uses);
  }
  post(std::move(waited));
  return true;
}

void Engine::Impl::post(Waited waited) {
  const Ref<Node> command = waited.command;
  Worker& worker = workers.device(waited.decision.backend);
  tasks.post(worker, command,
             [this, waited = std::move(waited)]() mutable { send(std::move(waited)); });
}

void Engine::Impl::send(Waited now) {
  constexpr size_t kMost = 64;  // then others have a turn
  Ref<Node> before;
  for (size_t count = 1;; ++count) {
    bool sent = false, awaited = false;
    const bool passed = tasks.run(now.command, [&] {
      sent =
          submit(now.command, *now.stream, now.decision, now.plan ? &*now.plan : nullptr, &awaited)
              .has_value();
    });
    if (!passed || !sent) {
      if (before) ends.watch_once(before);
      return;
    }
    log.call_back_submitted(now.command);
    std::optional<Waited> next;
    static_cast<void>(guarded([&] { next = next_waited(now.command); }));
    if (!next) {
      return awaited ? ends.watch(now.command) : ends.watch_once(now.command);
    }
    if (count == kMost) return post(std::move(*next));
    before = std::move(now.command);
    now = std::move(*next);
  }
}

std::optional<Engine::Impl::Waited> Engine::Impl::next_waited(const Ref<Node>& before) {
  Waited waited;
  std::optional<KernelWork> kernel;
  {
    MutexLock lock(log.mutex());
    waited.command = CommandLog::next_waiting(*before);
    if (!waited.command || waited.command->trace) return {};
    waited.stream = before->stream;
    // A copy: another thread may find that the one before has ended.
    if (const auto* work = std::get_if<KernelWork>(&waited.command->work)) kernel = *work;
  }
  if (kernel) {
    auto plan = planner.plan(*kernel, waited.stream->options().backends);
    if (!plan) return {};  // it hears of that when its turn comes
    waited.plan = std::move(*plan);
  }
  bool others_wait = false;
  {
    MutexLock lock(log.mutex());
    if (CommandLog::next_waiting(*before) != waited.command) return {};
    const Edge edge{before, Waits::kOrder};
    waited.decision =
        decide(waited.command, *waited.stream, {&edge, 1}, waited.plan ? &*waited.plan : nullptr);
    if (waited.decision.path != Decision::Path::kDirect ||
        waited.decision.backend != before->backend) {
      return {};
    }
    others_wait = log.detach(*before, *waited.command);
    log.set_submitting(*waited.command, waited.decision.backend);
    log.hold(*waited.command, waited.decision.uses);
  }
  if (others_wait) ends.watch(before);
  return waited;
}

void Engine::Impl::expect(Node& command, Stream& stream, const KernelPlan& plan) {
  command.expected = planner.begin(std::get<KernelWork>(command.work), plan);
  if (command.expected.devices == 0) return;
  stream.expected_end_ns.store(command.expected.end_ns, std::memory_order_relaxed);
}

Result<Ref<Node>> Engine::Impl::enqueue_launch(Stream& stream, KernelWork&& work,
                                               const EnqueueOptions& options) {
  TUTTI_ASSIGN(auto joining, batches->join(stream, work, options));
  if (joining.joined) return std::move(joining.event);
  auto command = make_ref<Node>(ends, options.type, std::move(work));
  command->observed = options.observed;
  command->sampled = joining.sampled;
  command->is_batch = command->open = joining.begins != nullptr;
  command->batch = std::move(joining.begins);
  return enqueue(stream, std::move(command), options, std::move(joining.plan));
}

Result<Ref<Node>> Engine::Impl::enqueue(Stream& stream, Ref<Node> command,
                                        const EnqueueOptions& options,
                                        std::optional<KernelPlan> plan) {
  using Path = Decision::Path;
  if (const auto* work = std::get_if<KernelWork>(&command->work); work && !plan) {
    TUTTI_ASSIGN(plan, planner.plan(*work, stream.options().backends, stream.held_until_ns()));
  }
  const uint64_t planned_ns = command->trace ? now_ns() : 0;
  const KernelPlan* plan_or_null = plan ? &*plan : nullptr;
  std::vector<Ref<Node>> to_watch;
  Decision decision;
  bool start_now = false;
  Ref<Node> splitting;  // which the command might be chained to
  Awaited waits;        // of a traced command
  const bool gathers = options.waits_for_all && options.wait_list.empty();
  if (batches) batches->close(&stream);
  for (bool polled = false, tried = false, planned_again = false;;) {
    cl_int error = CL_SUCCESS;
    MutexLock lock(log.mutex());
    auto edges = log.prerequisites(stream, options.wait_list, options.waits_for_all, &error);
    if (error != CL_SUCCESS) {
      log.append(stream, command, options.barrier, gathers);
      lock.unlock();
      if (command->trace) trace.enqueued(*command->trace, awaited(edges, options.wait_list));
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
      const auto uses = uses_of(command->work, plan_or_null);
      auto needed = log.edges_of_data(stream, *command, edges, uses);
      // To overtake what begins behind a split, only to wait for all of that one, gains nothing.
      const bool chained = splits.precede(log, edges, plan_or_null) && needed && !needed->empty() &&
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
        TUTTI_ASSIGN(plan, planner.plan(std::get<KernelWork>(command->work),
                                        stream.options().backends, ready));
        planned_again = true;
        continue;
      }
    }
    if (decision.lacks_memory_on != kNoBackend && !tried) {
      lock.unlock();
      room.allocate_what_fits(decision.uses, decision.lacks_memory_on);
      tried = true;
      continue;
    }
    if (command->trace) {
      waits = awaited(edges, options.wait_list);
      if (decision.path == Path::kDirect) {
        for (const auto& other : log.conflicts(*command, decision.uses)) {
          waits.add(other->trace.get(), Waits::kData);
        }
      }
    }
    if (overtakes) log.overtake(stream, *command, to_watch);
    if (decision.path == Path::kConducted) {
      log.append(stream, command, options.barrier, gathers);
      log.link(*command, edges, to_watch);
      start_now = log.unguard(*command);
      splitting = splits.before(log, command->work, edges);
      command->behind_split = splits.precede(log, edges, plan_or_null);
    } else {
      command->state =
          decision.path == Path::kDirect ? Node::State::kSubmitting : Node::State::kRunning;
      command->backend = decision.backend;
      log.append(stream, command, options.barrier, gathers);
      log.hold(*command, decision.uses);
    }
    break;
  }
  if (command->trace) trace.enqueued(*command->trace, waits);
  for (const auto& before : to_watch) ends.watch(before);
  switch (decision.path) {
    case Path::kDirect:
      if (plan && command->trace) {
        trace.decided(*command->trace, std::get<KernelWork>(command->work), *plan,
                      command->queued.load(std::memory_order_relaxed), planned_ns);
      }
      return submit(command, stream, decision, plan_or_null);
    case Path::kInline:
      log.set_running(command);
      if (decision.to_host) executor.overwrite_at_host(command->work);
      log.finish(command, code_of(execute(*command)));
      break;
    case Path::kConducted:
      if (start_now) ready(command);
      if (splitting) {
        workers.conductor().post_hint(
            [this, before = std::move(splitting), kernel = plan.has_value()] {
              kernel ? chain_next(before) : read_early(before);
            });
      }
      break;
  }
  return command;
}

}  // namespace tutti::scheduler
