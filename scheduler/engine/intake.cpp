// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/intake.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/awaited.h"
#include "scheduler/run/expected_launch.h"

namespace tutti::scheduler {
Ref<Node> Intake::new_node(const Stream& stream, const EnqueueOptions& options, Work&& work) {
  auto command = make_ref<Node>(parts_.ends, options.type, std::move(work));
  if (stream.options().profiling || parts_.trace.wants_all()) {
    command->queued.store(now_ns(), std::memory_order_relaxed);
  }
  command->observed = options.observed || options.blocking;
  command->names = !options.wait_list.empty();
  CommandLog::join_group(*command, options.group);
  command->ends_group = options.ends_group;
  return command;
}

bool Intake::waits_for_turn_only(const Stream& stream, const EnqueueOptions& options) {
  if (options.wait_list.empty()) return true;
  MutexLock lock(log_.mutex());
  return log_.are_ahead(stream, options.wait_list);
}

bool Intake::joins_batches() const {
  // Each launch of a device that has failed is carried out so that it can be undone.
  return parts_.batches && !parts_.backends.health().any_suspect() && !parts_.trace.wants_all();
}

Result<Ref<Node>> Intake::enqueue(Stream& stream, Work&& work, const EnqueueOptions& options) {
  if (auto* kernel = std::get_if<KernelWork>(&work)) {
    return enqueue(stream, std::move(*kernel), options);
  }
  // What a marker names may lie anywhere.
  const bool marks = std::holds_alternative<MarkerWork>(work);
  if (LaunchBatches::may_join(work) && joins_batches() &&
      (marks || waits_for_turn_only(stream, options))) {
    if (auto joined = parts_.batches->join(stream, work, options)) return *std::move(joined);
  }
  return make(stream, std::move(work), options);
}

Result<Ref<Node>> Intake::enqueue(Stream& stream, KernelWork&& work,
                                  const EnqueueOptions& options) {
  if (!joins_batches() || !waits_for_turn_only(stream, options)) {
    return make(stream, std::move(work), options);
  }
  TUTTI_ASSIGN(auto joining, parts_.batches->join(stream, work, options));
  if (joining.joined) return std::move(joining.event);
  auto command = new_node(stream, options, std::move(work));
  command->sampled = joining.sampled;
  command->is_batch = command->open = joining.begins != nullptr;
  command->batch = std::move(joining.begins);
  return take_in({std::move(command), stream, options, std::move(joining.plan)});
}

Result<Ref<Node>> Intake::make(Stream& stream, Work&& work, const EnqueueOptions& options) {
  auto command = new_node(stream, options, std::move(work));
  if (parts_.trace.wants_all()) {
    command->trace = parts_.trace.begin(command->work, stream.number(),
                                        command->queued.load(std::memory_order_relaxed));
  }
  if (!options.blocking) return take_in({std::move(command), stream, options, {}});
  const bool alone = !options.barrier && !command->trace && waits_for_turn_only(stream, options);
  if (const auto done = alone ? parts_.blocking.run_behind(stream, command) : std::nullopt) {
    if (!*done) return tl::unexpected<Error>(done->error());
    TUTTI_TRY(parts_.ends.wait_for(options.wait_list));  // they have ended: well?
    return command;
  }
  return parts_.blocking.run(stream, std::move(command), options);
}

Result<Ref<Node>> Intake::take_in(Incoming incoming) {
  const Node& command = *incoming.command;
  Stream& stream = incoming.stream;
  if (const auto* work = std::get_if<KernelWork>(&command.work); work && !incoming.plan) {
    TUTTI_ASSIGN(incoming.plan, plan_next(parts_.planner, stream, *work, stream.held_until_ns()));
  }
  if (command.trace) incoming.planned_ns = now_ns();
  if (parts_.batches) parts_.batches->close(&stream);
  Placed placed;
  for (bool done = false; !done;) {
    TUTTI_ASSIGN(done, place(incoming, placed));
  }
  return start(incoming, placed);
}

Result<bool> Intake::place(Incoming& incoming, Placed& placed) {
  using Path = Admission::Path;
  const Ref<Node>& command = incoming.command;
  const EnqueueOptions& options = incoming.options;
  const std::optional<KernelPlan>& plan = incoming.plan;
  Stream& stream = incoming.stream;
  MutexLock lock(log_.mutex());
  auto edges = log_.prerequisites(stream, options.wait_list, options.waits_for_all, *command);
  if (const cl_int error = command->dependency_error; error != CL_SUCCESS) {
    log_.append(stream, command, options.barrier, incoming.gathers());
    placed.failed = true;
    // In its turn: what those before it write, it should have overwritten.
    const bool now = edges.empty();
    if (!now) {
      log_.link(*command, edges, placed.behind);
      log_.unguard(*command);
    }
    lock.unlock();
    if (command->trace) {
      parts_.trace.enqueued(*command->trace, awaited(edges, options.wait_list));
    }
    if (now) log_.finish(command, error);
    return true;
  }
  auto assessed = parts_.assessor.assess(log_, *command, stream, edges, incoming.plan_or_null());
  if (plan && !plan->exact && !incoming.evaluated && touches_failed(assessed.uses)) {
    // What it overwrites wholly it may find as it is.
    lock.unlock();
    parts_.planner.evaluate(std::get<KernelWork>(command->work), *incoming.plan);
    incoming.evaluated = true;
    return false;
  }
  const bool conducted =
      assessed.decided.path == Path::kConducted && !lacks_memory(incoming, assessed);
  if (conducted && !edges.empty() && !incoming.polled) {
    // What seems unfinished may have ended on the vendor's side.
    lock.unlock();
    for (const Edge& edge : edges) edge.command->status();
    incoming.polled = true;
    return false;
  }
  bool overtakes = conducted && follow_queue(incoming, edges, assessed);
  // What fills or copies behind a kernel would bind what comes next to the kernel's device.
  const bool binds = !plan && parts_.backends.real_count() > 1 && !ahead_ends_soon(edges);
  if (!overtakes && !edges.empty() && (conducted || binds)) {
    if (auto needed = edges_of_data(incoming, edges)) {
      overtakes = overtake(incoming, *std::move(needed), edges, assessed);
    } else if (plan && plan->moved && !stream.options().out_of_order && !incoming.planned_again) {
      // There it would only wait.
      lock.unlock();
      const uint64_t ready = stream.expected_end_ns.load(std::memory_order_relaxed);
      TUTTI_ASSIGN(incoming.plan,
                   plan_next(parts_.planner, stream, std::get<KernelWork>(command->work), ready));
      incoming.planned_again = true;
      return false;
    }
  }
  if (lacks_memory(incoming, assessed)) {
    lock.unlock();
    parts_.room.allocate_what_fits(assessed.uses, assessed.decided.lacks_memory_on);
    incoming.made_room = true;
    return false;
  }
  if (command->trace) {
    placed.waits = awaited(edges, options.wait_list);
    if (assessed.decided.path == Path::kDirect) {
      for (const auto& other : assessed.conflicts) {
        placed.waits->add(other->trace.get(), Waits::kData);
      }
    }
  }
  if (overtakes) log_.overtake(stream, *command, placed.behind);
  append(incoming, edges, std::move(assessed), placed);
  return true;
}

bool Intake::ahead_ends_soon(std::span<const Edge> edges) const {
  return std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    const Node& before = *edge.command;
    return before.state == Node::State::kDirect &&
           std::holds_alternative<KernelWork>(before.work) &&
           parts_.planner.ends_soon(before.expected, before.backend);
  });
}

bool Intake::lacks_memory(const Incoming& incoming, const Assessment& assessed) {
  return assessed.decided.lacks_memory_on != kNoBackend && !incoming.made_room;
}

bool Intake::follow_queue(const Incoming& incoming, Edges& edges, Assessment& assessed) {
  auto queued = log_.edges_of_queue(incoming.stream, edges);
  if (!queued) return false;
  auto other = parts_.assessor.assess(log_, *incoming.command, incoming.stream, *queued,
                                      incoming.plan_or_null());
  const bool direct = other.decided.path == Admission::Path::kDirect;
  if (!direct && !lacks_memory(incoming, other)) return false;
  edges = std::move(*queued);
  assessed = std::move(other);
  return true;
}

std::optional<Edges> Intake::edges_of_data(const Incoming& incoming, std::span<const Edge> edges) {
  const KernelPlan* const plan = incoming.plan_or_null();
  const Node& command = *incoming.command;
  auto needed = log_.edges_of_data(incoming.stream, command, edges, uses_of(command.work, plan));
  // To overtake what begins behind a split, only to wait for all of that one, gains nothing.
  if (needed && !needed->empty() && parts_.splits.precede(log_, edges, plan) &&
      std::all_of(needed->begin(), needed->end(),
                  [](const Edge& edge) { return edge.waits == Waits::kData; })) {
    return std::nullopt;
  }
  return needed;
}

bool Intake::overtake(const Incoming& incoming, Edges needed, Edges& edges, Assessment& assessed) {
  using Path = Admission::Path;
  auto other = parts_.assessor.assess(log_, *incoming.command, incoming.stream, needed,
                                      incoming.plan_or_null(), true);
  const Admission &in_turn = assessed.decided, &before = other.decided;
  const bool differs = before.path != in_turn.path || before.backend != in_turn.backend;
  if (in_turn.path != Path::kConducted && (before.path == Path::kConducted || !differs)) {
    return false;
  }
  edges = std::move(needed);
  assessed = std::move(other);
  return true;
}

void Intake::append(Incoming& incoming, std::span<const Edge> edges, Assessment&& assessed,
                    Placed& placed) {
  const Ref<Node>& command = incoming.command;
  Stream& stream = incoming.stream;
  const bool barrier = incoming.options.barrier;
  placed.decided = assessed.decided;
  const bool behind_others = !edges.empty() || !assessed.conflicts.empty();
  if (placed.decided.path == Admission::Path::kDirect && behind_others &&
      failed_input(assessed.uses) != CL_SUCCESS) {
    // What has failed may be written anew by those before it: seen when its turn comes.
    placed.decided.path = Admission::Path::kConducted;
  }
  switch (placed.decided.path) {
    case Admission::Path::kConducted:
      log_.append(stream, command, barrier, incoming.gathers());
      log_.link(*command, edges, placed.behind);
      placed.ready = log_.unguard(*command);
      placed.splitting = parts_.splits.before(log_, command->work, edges);
      command->behind_split = parts_.splits.precede(log_, edges, incoming.plan_or_null());
      return;
    case Admission::Path::kInline:
      command->state = Node::State::kRunning;
      log_.append(stream, command, barrier, incoming.gathers());
      log_.hold(*command, assessed.uses);
      placed.failed_input = failed_input(assessed.uses);
      return;
    case Admission::Path::kDirect:
      command->state = Node::State::kSubmitting;
      command->backend = placed.decided.backend;
      placed.failed_input = failed_input(assessed.uses);
      Assessor::admit(log_, stream, edges, std::move(assessed), placed.submission);
      command->behind = std::move(placed.submission.waited_for);
      log_.append(stream, command, barrier, incoming.gathers());
      log_.hold(*command, placed.submission.uses);
      return;
  }
}

void Intake::note_decision(const Incoming& incoming) {
  const Node& command = *incoming.command;
  if (!incoming.plan || !command.trace) return;
  parts_.trace.decided(*command.trace, std::get<KernelWork>(command.work), *incoming.plan,
                       command.queued.load(std::memory_order_relaxed), incoming.planned_ns);
}

Result<Ref<Node>> Intake::start(Incoming& incoming, Placed& placed) {
  const Ref<Node>& command = incoming.command;
  for (const auto& before : placed.behind) parts_.ends.watch(before);
  if (placed.failed) return command;
  if (command->trace) parts_.trace.enqueued(*command->trace, *placed.waits);
  switch (placed.decided.path) {
    case Admission::Path::kDirect:
      if (placed.failed_input != CL_SUCCESS) {
        log_.finish(command, placed.failed_input);
        break;
      }
      note_decision(incoming);
      return parts_.direct.submit(command, incoming.stream, placed.submission,
                                  incoming.plan_or_null());
    case Admission::Path::kInline:
      log_.set_running(command);
      if (placed.failed_input != CL_SUCCESS) {
        log_.finish(command, placed.failed_input);
        break;
      }
      if (placed.decided.to_host) Executor::overwrite_at_host(command->work);
      log_.finish(command, code_of(parts_.host.execute(*command)));
      break;
    case Admission::Path::kConducted:
      // What has to wait is planned when its turn comes.
      if (placed.ready) {
        note_decision(incoming);
        parts_.conductor.ready(command, std::move(incoming.plan));
      } else if (placed.splitting) {
        parts_.chains.look_behind(std::move(placed.splitting), incoming.plan.has_value());
      }
      break;
  }
  return command;
}

}  // namespace tutti::scheduler
