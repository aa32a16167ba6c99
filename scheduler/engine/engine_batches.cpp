// SPDX-License-Identifier: Apache-2.0
// The shortest way of a launch: an application that launches one small kernel after the other gets
// one command for all of them, and the vendor's queue alone keeps order. Where it asks for an event
// there is one more, which knows of nothing but that launch's end.
// Of those that look the same one in many is planned, and one that differs from an earlier one in
// numbers only is given to the vendor without a look at anything else.
#include <algorithm>

#include "scheduler/engine/engine_impl.h"

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
  return !plan.exact && (plan.why == Why::kSmall || plan.why == Why::kOneDevice ||
                         plan.why == Why::kSingle || plan.why == Why::kNever);
}

/// What is launched again gets the numbers that are kept for it.
void point_to(const LaunchedArguments& kept, VendorLaunch& launch) {
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    if (launch.arguments[i].kind != backends::Argument::Kind::kBytes) continue;
    launch.arguments[i].bytes = kept.number(i);
  }
}

}  // namespace

bool Engine::Impl::may_join(const Command& batch, std::span<const BufferUse> uses) {
  if (!allocated(uses, {&batch.backend_, 1})) return false;
  const auto conflicts = log.conflicts(batch, uses);
  return std::all_of(conflicts.begin(), conflicts.end(),
                     [&](const auto& other) { return CommandLog::ahead_of(batch, *other); });
}

Ref<Command> Engine::Impl::join_batch(Stream& stream, const KernelWork& work,
                                      const KernelPlan& plan, std::span<BufferUse> uses) {
  const uint32_t backend = plan.backend;
  Ref<Command> batch = log.open_batch(stream);
  if (!batch || batch->backend_ != backend || !direct.possible(uses, backend)) return {};
  if (batch->has_events_ && !plan.brief) return {};
  if (direct.sends(uses, backend)) {
    for (BufferUse& use : uses) use.writes = true;
  }
  if (!may_join(*batch, uses)) return {};
  log.join(*batch, uses);
  CommandLog::keep(*batch, work);
  return batch;
}

Ref<Command> Engine::Impl::new_batch_event(const EnqueueOptions& options) {
  return options.observed ? make_ref<Command>(*this, options.type, MarkerWork{}) : Ref<Command>();
}

Expectation Engine::Impl::joined(const KernelWork& work, const KernelPlan& plan) {
  if (summary.enabled()) summary.launched_whole(work, plan, plan.backend);
  return planner.begin(work, plan);
}

void Engine::Impl::settle(Stream& stream, Command& batch, uint32_t backend,
                          const Expectation& expected, backends::CompletionPtr completion,
                          Command::Kind* repeatable, Command* event) {
  Ref<Command> awaited;  // nothing else may hold the batch once the lock is gone
  {
    MutexLock lock(log.mutex());
    if (event) log.take_batch_event(stream, batch, *event, backend, completion);
    if (expected.devices != 0) batch.expected_ = expected;
    if (log.set_direct(batch, backend, std::move(completion))) {
      awaited = Ref<Command>(&batch);
    } else if (repeatable) {
      log.may_repeat(stream, batch, *repeatable);
    }
  }
  if (awaited) watch(std::move(awaited));
}

Result<Ref<Command>> Engine::Impl::submit_to_batch(const Ref<Command>& batch, Stream& stream,
                                                   const KernelWork& work, const KernelPlan& plan,
                                                   std::span<const BufferUse> uses,
                                                   Command::Kind* kind,
                                                   const EnqueueOptions& options) {
  VendorLaunch own;
  VendorLaunch& made = kind ? kind->vendor : own;
  auto submitted = direct.submit(work, stream, plan.backend, uses, options.observed, made);
  if (!submitted) {
    // The batch is what it was before.
    settle(stream, *batch, plan.backend, {}, batch->completion_, nullptr);
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  if (kind) point_to(kind->arguments, kind->vendor);
  Ref<Command> event = new_batch_event(options);
  settle(stream, *batch, plan.backend, joined(work, plan), std::move(*submitted), kind,
         event.get());
  return event;
}

bool Engine::Impl::finish_batch(Stream& stream) {
  uint32_t backend = 0;
  backends::CompletionPtr completion;
  {
    MutexLock lock(log.mutex());
    const Command* batch = log.may_be_idle(stream);
    if (!batch || batch->idle_) return batch != nullptr;
    backend = batch->backend_;
    completion = batch->completion_;
  }
  for (auto* queue : stream.existing_queues(backend)) {
    if (!queue->finish()) return false;  // each command says what has become of it
  }
  completion->poll();  // it may have an event of its own
  return idle_batch(stream);
}

bool Engine::Impl::idle_batch(Stream& stream) {
  MutexLock lock(log.mutex());
  Command* batch = log.may_be_idle(stream);
  if (!batch || !batch->completion_->known_complete()) return false;
  planner.ended(std::exchange(batch->expected_, {}));
  if (!batch->idle_) log.make_idle(*batch);
  return true;
}

void Engine::Impl::end_idle(const Stream* stream) {
  for (const auto& batch : log.take_idle(stream)) finish_direct(batch, CL_COMPLETE);
}

void Engine::released() { impl_->end_idle(nullptr); }

std::optional<Status> Engine::launch_again(Stream& stream, const LaunchableKernel& kernel,
                                           const LaunchShape& shape, bool local_given,
                                           ArgumentSource& arguments, Observer* observer) {
  Impl& impl = *impl_;
  const bool observed = observer != nullptr;
  const auto repeat =
      impl.log.begin_repeat(stream, kernel, shape, local_given, arguments, observed);
  if (!repeat.batch) return std::nullopt;
  Command& batch = *repeat.batch;
  Command::Kind& kind = *repeat.kind;
  const KernelPlan& plan = *kind.plan;
  const backends::Completion* before = batch.completion_.get();
  const Status launched =
      DirectPath::launch_again(stream, plan.backend, kind.vendor, observed, batch.completion_);
  Expectation expected;
  if (launched) {
    stream.note_unplanned();
    expected = impl.joined(kind.work, plan);
    if (expected.devices != 0) batch.expected_ = expected;
    if (batch.completion_.get() == before && impl.log.end_repeat(repeat)) return launched;
    if (observed) observer->command = make_ref<Command>(*impl_, observer->type, MarkerWork{});
  }
  impl.settle(stream, batch, plan.backend, expected, batch.completion_, launched ? &kind : nullptr,
              launched && observed ? observer->command.get() : nullptr);
  return launched;
}

bool Engine::Impl::is_brief(const KernelWork& work, uint32_t backend) {
  constexpr double kBriefSeconds = 50e-6;
  const auto speed = model.speed(model_key(work), backend);
  return speed && static_cast<double>(work.shape.items()) < *speed * kBriefSeconds;
}

Result<Ref<Command>> Engine::Impl::enqueue_launch(Stream& stream, KernelWork&& work,
                                                  const EnqueueOptions& options) {
  std::vector<BufferUse> uses;
  Ref<Command> batch;
  Command::Kind* kind = nullptr;
  std::shared_ptr<const KernelPlan> lasting;
  {
    MutexLock lock(log.mutex());
    lasting = log.planned_before(stream, work);
    uses = uses_of(work, nullptr);
    // Data that lie elsewhere are reason enough to think again.
    if (lasting && (!options.observed || lasting->brief) && !direct.sends(uses, lasting->backend)) {
      batch = join_batch(stream, work, *lasting, uses);
      if (batch) {
        kind = &log.kind_of(*batch, work, lasting, launches_by(*lasting), false);
        kind->brief = lasting->brief;
      }
    }
  }
  if (batch) {
    stream.note_unplanned();
    return submit_to_batch(batch, stream, work, *lasting, uses, kind, options);
  }
  TUTTI_ASSIGN(KernelPlan plan, planner.plan(work, stream.options().backends, earliest(stream)));
  const uint32_t unplanned = stream.unplanned.exchange(0, std::memory_order_relaxed);
  const bool sampled =
      !plan.split && model.wants_sample(model_key(work), plan.backend, unplanned + 1);
  plan.brief = !plan.split && is_brief(work, plan.backend);
  // Who waits for a batch waits for all that has joined it.
  const bool fits_a_batch = !plan.split && !sampled && plan.why != KernelPlan::Why::kTrial &&
                            (!options.observed || plan.brief);
  lasting = lasts(plan) ? std::make_shared<const KernelPlan>(plan) : nullptr;
  if (fits_a_batch) {
    if (plan.exact) uses = uses_of(work, &plan);
    MutexLock lock(log.mutex());
    batch = join_batch(stream, work, plan, uses);
    if (batch) {
      kind = &log.kind_of(*batch, work, lasting, launches_by(plan), true);
      kind->brief = plan.brief;
    }
  }
  if (batch) {
    return submit_to_batch(batch, stream, work, plan, uses, lasting ? kind : nullptr, options);
  }
  auto command = make_ref<Command>(*this, options.type, std::move(work));
  command->observed_ = options.observed;
  command->sampled_ = sampled;
  command->is_batch_ = command->open_ = fits_a_batch;
  if (fits_a_batch) command->plan_ = std::move(lasting);
  return enqueue(stream, std::move(command), options, std::move(plan));
}

}  // namespace tutti::scheduler
