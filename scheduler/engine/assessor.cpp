// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/assessor.h"

#include <utility>

namespace tutti::scheduler {
namespace {

Admission::Ahead::One seen(const Node& before, const Stream& stream, Waits waits) {
  return {.command = &before,
          .direct = before.state == Node::State::kDirect,
          .backend = before.backend,
          .shown_later = before.after.get() != nullptr,
          .same_stream = before.stream.get() == &stream,
          .waits = waits};
}

uint64_t bytes_of(std::span<const BufferUse> uses) {
  uint64_t bytes = 0;
  for (const BufferUse& use : uses) bytes += use.end - use.begin;
  return bytes;
}

}  // namespace

void Assessor::find_place(const Work& work, std::span<const BufferUse> uses,
                          Admission::Asked& asked) const {
  if (uses.empty() || std::holds_alternative<MapWork>(work) ||
      std::holds_alternative<UnmapWork>(work) || std::holds_alternative<MapSharedWork>(work)) {
    return;
  }
  const BufferUse& first = uses.front();
  const auto* copy = std::get_if<CopyWork>(&work);
  const Place place =
      asked.overwrites
          ? executor_.place_of_write(*first.buffer, first.begin, first.end).value_or(kHostPlace)
      : copy ? executor_.place_of_copy(*copy)
             : executor_.preferred_place(*first.buffer, first.begin, first.end);
  if (place != kHostPlace) asked.data_backend = place - 1;
  asked.several_memories = !first.buffer->in_one_memory();
}

Admission::Asked Assessor::asked(const Work& work, const Stream& stream,
                                 std::span<const Edge> edges, const KernelPlan* plan,
                                 bool overtakes, std::span<const BufferUse> uses) const {
  Admission::Asked asked;
  for (const Edge& edge : edges) asked.ahead.add(seen(*edge.command, stream, edge.waits));
  asked.overtakes = overtakes;
  if (plan) {
    asked.launch = {.backend = plan->backend,
                    .measured_apart = launches_apart_ || plan->split ||
                                      plan->why == KernelPlan::Why::kTrial ||
                                      backends_.health().suspect(plan->backend),
                    .others_may = plan->participants.size() > 1 || plan->lacking != 0,
                    .synchronous = backends_.traits(plan->backend).synchronous,
                    .seconds = plan->whole_seconds};
    return asked;
  }
  asked.only_order = direct_.only_order(work);
  const auto* const host_work = std::get_if<HostWork>(&work);
  // What may have to wait for room in a device's memory takes as long as others please, too.
  asked.host_work = host_work || !allocated(executor_.needs_of(work));
  asked.in_caller = host_work && host_work->in_caller;
  asked.overwrites = Executor::overwrites(work);
  asked.all_synchronous = backends_.all_synchronous();
  asked.bytes = bytes_of(uses);
  const uint32_t ahead = asked.ahead.backend();
  asked.markers = ahead != kNoBackend && backends_.traits(ahead).markers;
  if (asked.ahead.none()) find_place(work, uses, asked);
  return asked;
}

Assessment Assessor::assess(CommandLog& log, const Node& command, const Stream& stream,
                            std::span<const Edge> edges, const KernelPlan* plan,
                            bool overtakes) const {
  const Work& work = command.work;
  Assessment found;
  auto& uses = found.uses = uses_of(work, plan);
  const Admission::Asked facts = asked(work, stream, edges, plan, overtakes, uses);
  const auto target = Admission::target(facts, found.decided);
  if (!target) return found;
  Admission::AtTarget at;
  if (const uint32_t backend = *target; backend != kNoBackend) {
    if (overtakes && facts.overwrites) at.busy_seconds = planner_.busy_seconds(backend);
    at.possible = plan ? direct_.possible(uses, backend) : direct_.possible(work, backend);
    if (at.possible) {
      at.reads_what_is_written =
          backends_.traits(backend).reads_ahead && log.reads_what_is_written(stream, work);
      if (plan && direct_.sends(uses, backend)) {
        for (BufferUse& use : uses) use.writes = use.hidden = true;
      }
      at.lacks_memory = !allocated(uses, {&backend, 1});
    }
  }
  if (at.possible || (edges.empty() && !plan)) {
    const uint32_t queue = at.possible ? *target : kNoBackend;
    found.conflicts =
        log.conflicts(command, uses, *target == kNoBackend ? 0 : backend_bit(*target), queue);
    for (const auto& other : found.conflicts) at.conflicts.add(seen(*other, stream, Waits::kData));
  }
  found.decided = Admission::decide(facts, *target, at);
  return found;
}

void Assessor::admit(CommandLog&, const Stream& stream, std::span<const Edge> edges,
                     Assessment&& assessed, Submission& admitted) {
  admitted.backend = assessed.decided.backend;
  admitted.uses = std::move(assessed.uses);
  admitted.marks = assessed.decided.marks;
  if (assessed.decided.ends_with_before) {
    Node& before = *edges.front().command;
    before.open = false;
    admitted.completion = before.completion;
    return;
  }
  const auto wait_for = [&](Node& before) {
    if (before.stream.get() == &stream) return;  // the vendor's queue keeps that order
    before.open = false;
    admitted.wait.push_back(before.completion);
    admitted.waited_for.emplace_back(&before);
  };
  for (const Edge& edge : edges) wait_for(*edge.command);
  for (const auto& other : assessed.conflicts) wait_for(*other);
}

}  // namespace tutti::scheduler
