// SPDX-License-Identifier: Apache-2.0
#include "scheduler/batch/launch_batches.h"

#include <algorithm>
#include <utility>

#include "scheduler/order/failed_content.h"
#include "scheduler/run/expected_launch.h"

namespace tutti::scheduler {
namespace {

// A plan lasts for so many more launches: for as many as are expected to take this long together,
// and where there is one device only it would be the same again.
constexpr double kPlannedSeconds = 1e-3;
constexpr uint32_t kFewestUnplanned = 15, kMostUnplanned = 1023;

uint32_t launches_by(const KernelPlan& plan) {
  if (plan.why == KernelPlan::Why::kOneDevice) return kMostUnplanned;
  const double each = plan.whole_seconds - plan.wait_seconds;
  if (each <= 0) return kFewestUnplanned;
  return static_cast<uint32_t>(
      std::clamp<double>(kPlannedSeconds / each, kFewestUnplanned, kMostUnplanned));
}

/// Nothing but the model, the load and where data lie may change what is planned next.
bool lasts(const KernelPlan& plan) {
  using Why = KernelPlan::Why;
  return !plan.exact &&
         (plan.why == Why::kSmall || plan.why == Why::kOneDevice || plan.why == Why::kNotBuilt ||
          plan.why == Why::kSingle || plan.why == Why::kNever);
}

}  // namespace

bool LaunchBatches::joinable(const Node& batch) {
  constexpr size_t kMostBuffers = 256;
  return batch.batch && batch.open && batch.state == Node::State::kDirect && !batch.watched &&
         batch.dependents.empty() && !batch.after && batch.batch->has_room() &&
         batch.used_buffers.size() < kMostBuffers;
}

Ref<Node> LaunchBatches::open_batch(const Stream& stream) {
  const Node* last = stream.last.get();
  return last && joinable(*last) ? stream.last : Ref<Node>();
}

bool LaunchBatches::may_go_elsewhere(Stream& stream, uint32_t backend, const Error& why,
                                     std::span<const BufferUse> uses) {
  log_.drain(stream, backend);
  parts_.backends.health().note_failure(backend, why);
  if (!parts_.backends.may_write_late(backend)) return parts_.backends.real_count() > 1;
  for (const BufferUse& use : uses) {
    const ByteRange range{use.begin, use.end};
    if (use.writes) log_.note_lost(*use.buffer, {&range, 1}, why.code);
  }
  return false;
}

bool LaunchBatches::is_free(const Node& batch, std::span<const BufferUse> uses) {
  if (!allocated(uses, {&batch.backend, 1}) || touches_failed(uses)) return false;
  const auto conflicts = log_.conflicts(batch, uses, backend_bit(batch.backend), batch.backend);
  return std::all_of(conflicts.begin(), conflicts.end(),
                     [&](const auto& other) { return CommandLog::ahead_of(batch, *other); });
}

void LaunchBatches::join_node(Node& batch, std::span<const BufferUse> uses, CommandGroup* group) {
  if (batch.idle) log_.wake(batch);
  log_.number_anew(batch);
  CommandLog::reopen(batch);
  CommandLog::join_group(batch, group);
  if (std::exchange(batch.touched, false)) batch.batch->look_again();
  log_.hold(batch, uses);
}

Ref<Node> LaunchBatches::join_launch(Stream& stream, const KernelWork& work, const KernelPlan& plan,
                                     std::span<BufferUse> uses, CommandGroup* group) {
  const uint32_t backend = plan.backend;
  Ref<Node> batch = open_batch(stream);
  if (!batch || batch->backend != backend || !parts_.direct.possible(uses, backend)) return {};
  if (batch->batch->has_events() && !plan.brief) return {};
  if (parts_.direct.sends(uses, backend)) {
    for (BufferUse& use : uses) use.writes = use.hidden = true;
  }
  if (!is_free(*batch, uses)) return {};
  join_node(*batch, uses, group);
  batch->batch->keep(std::get<KernelWork>(batch->work), work);
  return batch;
}

LaunchBatch::Kind& LaunchBatches::kind_of(Node& batch, const KernelWork& work,
                                          std::shared_ptr<const KernelPlan> plan, uint32_t launches,
                                          bool anew) {
  std::shared_ptr<const void> replaced;
  auto& kind = batch.batch->kind_of(work, std::move(plan), launches, anew, replaced);
  if (replaced) log_.mutex().retire(std::move(replaced));
  return kind;
}

std::shared_ptr<const KernelPlan> LaunchBatches::planned_before(const Stream& stream,
                                                                const KernelWork& work,
                                                                uint32_t& unplanned) {
  const Node* last = stream.last.get();
  // One that is submitting is in another thread's hands.
  if (!last || !last->batch || last->state != Node::State::kDirect) return nullptr;
  unplanned = last->batch->unplanned(work);
  return last->batch->planned_before(std::get<KernelWork>(last->work), work);
}

Ref<Node> LaunchBatches::new_event(NodeOwner& owner, cl_command_type type, const Begun& begun,
                                   CommandGroup* group, bool ends_group) {
  auto event = make_ref<Node>(owner, type, MarkerWork{});
  event->queued.store(begun.queued_ns, std::memory_order_relaxed);
  event->submitted.store(begun.submitted_ns, std::memory_order_relaxed);
  CommandLog::join_group(*event, group);
  event->ends_group = ends_group;
  return event;
}

void LaunchBatches::take_event(CommandLog& log, Stream& stream, Node& batch, Node& event,
                               uint32_t backend, backends::CompletionPtr completion) {
  // Nobody may ever ask for the event, and the batch's completion knows nothing of that launch. Of
  // those that are known to have ended well nothing more is to be known; but times are read in the
  // order of the commands.
  const bool well_is_done = !stream.options().profiling && !log.any_failed();
  const auto done = [&](const Ref<Node>& newest) {
    // And so have those behind it, each of which may have failed for itself.
    for (const Node* before = newest.get(); !before->done();) {
      const bool well = well_is_done && before->of_batch && before->stream.get() == &stream &&
                        before->completion && before->completion->known_complete();
      if (!well || before->behind.empty()) return well;
      if (before->behind.size() > 1) return false;
      before = before->behind.front().get();
    }
    return true;
  };
  const bool first = std::all_of(batch.behind.begin(), batch.behind.end(), done);
  batch.batch->take_event(first);
  if (first) {
    log.let_go_behind(batch);
  } else {
    event.behind = std::exchange(batch.behind, {});
  }
  batch.behind.emplace_back(&event);
  event.of_batch = true;
  event.event_of = Ref<Node>(&batch);
  event.number = event.newest_number = batch.newest_number;
  event.stream = Ref<Stream>(&stream);
  log.set_direct(event, backend, std::move(completion));
}

void LaunchBatches::settle(Stream& stream, Node& batch, uint32_t backend,
                           const Expectation& expected, backends::CompletionPtr completion,
                           LaunchBatch::Kind* repeatable, Node* event) {
  Ref<Node> awaited;  // nothing else may hold the batch once the lock is gone
  // It has ended already: known so, it need not be kept until somebody asks.
  if (event && parts_.backends.traits(backend).synchronous) completion->poll();
  {
    MutexLock lock(log_.mutex());
    if (event) take_event(log_, stream, batch, *event, backend, completion);
    if (expected.devices != 0) batch.expected = expected;
    if (log_.set_direct(batch, backend, std::move(completion))) {
      awaited = Ref<Node>(&batch);
    } else if (repeatable) {
      may_repeat(stream, batch, *repeatable);
    }
  }
  if (awaited) parts_.sink.watch(std::move(awaited));
}

bool LaunchBatches::is_brief(const KernelWork& work, uint32_t backend) {
  // For less no launch is split, nor goes to another device than the best one to begin earlier.
  constexpr double kBriefSeconds = 2 * kSplitSeconds;
  const auto speed = parts_.model.speed(model_key(work), backend);
  return speed && static_cast<double>(work.shape.items()) < *speed * kBriefSeconds;
}

Result<LaunchBatches::Joining> LaunchBatches::join(Stream& stream, const KernelWork& work,
                                                   const EnqueueOptions& options) {
  BufferUses uses;
  Ref<Node> batch;
  LaunchBatch::Kind* kind = nullptr;
  std::shared_ptr<const KernelPlan> lasting;
  uint32_t unplanned = 0;
  const bool brief_only = joins_if_brief(stream, options.observed);
  {
    MutexLock lock(log_.mutex());
    lasting = planned_before(stream, work, unplanned);
    uses = uses_of(work, nullptr);
    // Data that lie elsewhere are reason enough to think again.
    if (lasting && (!brief_only || lasting->brief) &&
        !parts_.direct.sends(uses, lasting->backend)) {
      batch = join_launch(stream, work, *lasting, uses, options.group);
      if (batch) {
        kind = &kind_of(*batch, work, lasting, launches_by(*lasting), false);
        kind->brief = lasting->brief;
      }
    }
  }
  if (batch) {
    return submit(batch, stream, work, *lasting, uses, kind, options);
  }
  TUTTI_ASSIGN(KernelPlan plan, plan_next(parts_.planner, stream, work, stream.held_until_ns()));
  const bool sampled =
      !plan.split && parts_.model.wants_sample(model_key(work), plan.backend, unplanned + 1);
  plan.brief = !plan.split && is_brief(work, plan.backend);
  // Who waits for a batch waits for all that has joined it.
  const bool fits_a_batch =
      !plan.split && !sampled && plan.why != KernelPlan::Why::kTrial && (!brief_only || plan.brief);
  lasting = lasts(plan) ? std::make_shared<const KernelPlan>(plan) : nullptr;
  if (fits_a_batch) {
    if (plan.exact) uses = uses_of(work, &plan);
    MutexLock lock(log_.mutex());
    batch = join_launch(stream, work, plan, uses, options.group);
    if (batch) {
      kind = &kind_of(*batch, work, lasting, launches_by(plan), true);
      kind->brief = plan.brief;
    }
  }
  if (batch) {
    return submit(batch, stream, work, plan, uses, lasting ? kind : nullptr, options);
  }
  return Joining{
      .plan = std::move(plan),
      .sampled = sampled,
      .begins = fits_a_batch ? std::make_shared<LaunchBatch>(std::move(lasting)) : nullptr};
}

bool LaunchBatches::finish(Stream& stream) {
  uint32_t backend = 0;
  backends::CompletionPtr completion;
  Ref<Node> oldest;
  Nodes events;
  {
    MutexLock lock(log_.mutex());
    const Node* batch = may_be_idle(stream);
    if (!batch || batch->idle) return batch != nullptr;
    backend = batch->backend;
    if (!CommandLog::all_ahead_of(stream, *batch)) return false;
    completion = batch->completion;
    oldest = stream.outstanding.front();
    events = batch->behind;
  }
  if (!log_.drain(stream, backend)) return false;
  for (const auto& event : events) event->status();  // and with it those before it
  if (events.empty()) completion->poll();            // it may have an event of its own
  const auto idle_now = [&] {
    MutexLock lock(log_.mutex());
    return make_idle(log_, stream);
  };
  if (idle_now()) return true;
  oldest->status();  // those before the batch end one after the other
  return idle_now();
}

bool LaunchBatches::make_idle([[maybe_unused]] CommandLog& log, Stream& stream) {
  log_.mutex().assert_held();
  Node* batch = may_be_idle(stream);
  if (!batch || stream.outstanding.size() != 1 || !batch->completion->known_complete() ||
      CommandLog::waits_behind(*batch)) {
    return false;
  }
  log_.let_go_behind(*batch);
  parts_.planner.ended(std::exchange(batch->expected, {}));
  if (!batch->idle) log_.make_idle(*batch);
  return true;
}

Node* LaunchBatches::may_be_idle(Stream& stream) {
  log_.drop_done(stream);
  if (stream.outstanding.empty() || stream.unseen_error != CL_SUCCESS) return nullptr;
  Node& batch = *stream.outstanding.back();
  const bool well = batch.joined_error == CL_SUCCESS && !touches_failed(batch);
  const bool may = stream.last.get() == &batch && joinable(batch) && batch.callbacks.empty() &&
                   log_.nothing_released_since(batch) && well;
  return may ? &batch : nullptr;
}

void LaunchBatches::close(const Stream* stream) {
  if (stream != nullptr && !log_.any_idle()) return;
  for (const auto& batch : log_.take_idle(stream)) parts_.owner.finish_direct(batch, CL_COMPLETE);
}

}  // namespace tutti::scheduler
