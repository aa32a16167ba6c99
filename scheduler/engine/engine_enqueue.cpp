// SPDX-License-Identifier: Apache-2.0
// What becomes of a command that is enqueued: handed to a vendor's queue at once, done at once, or
// left to the conductor, behind what it must wait for.
#include <algorithm>

#include "base/clock.h"
#include "scheduler/engine/engine_impl.h"

namespace tutti::scheduler {

void Engine::Impl::poll(std::span<const Edge> edges) {
  for (const Edge& edge : edges) edge.command->status();
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
  using Path = Admission::Path;
  if (const auto* work = std::get_if<KernelWork>(&command->work); work && !plan) {
    TUTTI_ASSIGN(plan, planner.plan(*work, stream.options().backends, stream.held_until_ns()));
  }
  const uint64_t planned_ns = command->trace ? now_ns() : 0;
  const KernelPlan* plan_or_null = plan ? &*plan : nullptr;
  std::vector<Ref<Node>> to_watch;
  Assessment assessed;
  Submission submission;
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
    assessed = assessor.assess(log, *command, stream, edges, plan_or_null);
    if (assessed.decided.path == Path::kConducted && !edges.empty() && !polled) {
      // What seems unfinished may have ended on the vendor's side.
      lock.unlock();
      poll(edges);
      polled = true;
      continue;
    }
    bool overtakes = false;
    const bool conducted = assessed.decided.path == Path::kConducted;
    // What fills or copies behind a kernel would bind what comes next to the kernel's device.
    if (!edges.empty() && (conducted || (!plan && backends.real_count() > 1))) {
      const auto uses = uses_of(command->work, plan_or_null);
      auto needed = log.edges_of_data(stream, *command, edges, uses);
      // To overtake what begins behind a split, only to wait for all of that one, gains nothing.
      const bool chained = splits.precede(log, edges, plan_or_null) && needed && !needed->empty() &&
                           std::all_of(needed->begin(), needed->end(),
                                       [](const Edge& edge) { return edge.waits == Waits::kData; });
      if (needed && !chained) {
        Assessment other = assessor.assess(log, *command, stream, *needed, plan_or_null, true);
        const Admission &now = assessed.decided, &then = other.decided;
        overtakes = conducted || (then.path != Path::kConducted &&
                                  (then.path != now.path || then.backend != now.backend));
        if (overtakes) {
          edges = std::move(*needed);
          assessed = std::move(other);
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
    const Admission& decided = assessed.decided;
    if (decided.lacks_memory_on != kNoBackend && !tried) {
      lock.unlock();
      room.allocate_what_fits(assessed.uses, decided.lacks_memory_on);
      tried = true;
      continue;
    }
    if (command->trace) {
      waits = awaited(edges, options.wait_list);
      if (decided.path == Path::kDirect) {
        for (const auto& other : assessed.conflicts) {
          waits.add(other->trace.get(), Waits::kData);
        }
      }
    }
    if (overtakes) log.overtake(stream, *command, to_watch);
    if (decided.path == Path::kConducted) {
      log.append(stream, command, options.barrier, gathers);
      log.link(*command, edges, to_watch);
      start_now = log.unguard(*command);
      splitting = splits.before(log, command->work, edges);
      command->behind_split = splits.precede(log, edges, plan_or_null);
    } else {
      const bool now = decided.path == Path::kDirect;
      command->state = now ? Node::State::kSubmitting : Node::State::kRunning;
      command->backend = decided.backend;
      if (now) submission = Assessor::admit(log, stream, edges, std::move(assessed));
      log.append(stream, command, options.barrier, gathers);
      log.hold(*command, now ? submission.uses : assessed.uses);
    }
    break;
  }
  if (command->trace) trace.enqueued(*command->trace, waits);
  for (const auto& before : to_watch) ends.watch(before);
  switch (assessed.decided.path) {
    case Path::kDirect:
      if (plan && command->trace) {
        trace.decided(*command->trace, std::get<KernelWork>(command->work), *plan,
                      command->queued.load(std::memory_order_relaxed), planned_ns);
      }
      return submitter.submit(command, stream, submission, plan_or_null);
    case Path::kInline:
      log.set_running(command);
      if (assessed.decided.to_host) executor.overwrite_at_host(command->work);
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
