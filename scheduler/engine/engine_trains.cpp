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

bool Engine::Impl::may_join(const Command& train, std::span<const BufferUse> uses) {
  if (!allocated(uses, {&train.backend_, 1})) return false;
  const auto conflicts = log.conflicts(train, uses);
  return std::all_of(conflicts.begin(), conflicts.end(),
                     [&](const auto& other) { return CommandLog::ahead_of(train, *other); });
}

Ref<Command> Engine::Impl::join_train(Stream& stream, const KernelWork& work,
                                      const KernelPlan& plan, std::span<BufferUse> uses) {
  const uint32_t backend = plan.backend;
  Ref<Command> train = log.open_train(stream);
  if (!train || train->backend_ != backend || !direct.possible(uses, backend)) return {};
  if (train->has_passengers_ && !plan.brief) return {};
  if (direct.sends(uses, backend)) {
    for (BufferUse& use : uses) use.writes = true;
  }
  if (!may_join(*train, uses)) return {};
  log.join(*train, uses);
  CommandLog::keep(*train, work);
  return train;
}

Ref<Command> Engine::Impl::new_passenger(const EnqueueOptions& options) {
  return options.observed ? make_ref<Command>(*this, options.type, MarkerWork{}) : Ref<Command>();
}

Expectation Engine::Impl::joined(const KernelWork& work, const KernelPlan& plan) {
  if (summary.enabled()) summary.launched_whole(work, plan, plan.backend);
  return planner.begin(work, plan);
}

void Engine::Impl::settle(Stream& stream, Command& train, uint32_t backend,
                          const Expectation& expected, backends::CompletionPtr completion,
                          Command::Kind* repeatable, Command* passenger) {
  Ref<Command> awaited;  // nothing else may hold the train once the lock is gone
  {
    MutexLock lock(log.mutex());
    if (passenger) log.take_passenger(stream, train, *passenger, backend, completion);
    if (expected.devices != 0) train.expected_ = expected;
    if (log.set_direct(train, backend, std::move(completion))) {
      awaited = Ref<Command>(&train);
    } else if (repeatable) {
      log.may_repeat(stream, train, *repeatable);
    }
  }
  if (awaited) watch(std::move(awaited));
}

Result<Ref<Command>> Engine::Impl::submit_to_train(const Ref<Command>& train, Stream& stream,
                                                   const KernelWork& work, const KernelPlan& plan,
                                                   std::span<const BufferUse> uses,
                                                   Command::Kind* kind,
                                                   const EnqueueOptions& options) {
  VendorLaunch own;
  VendorLaunch& made = kind ? kind->vendor : own;
  auto submitted = direct.submit(work, stream, plan.backend, uses, options.observed, made);
  if (!submitted) {
    // The train is what it was before.
    settle(stream, *train, plan.backend, {}, train->completion_, nullptr);
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  if (kind) point_to(kind->arguments, kind->vendor);
  Ref<Command> passenger = new_passenger(options);
  settle(stream, *train, plan.backend, joined(work, plan), std::move(*submitted), kind,
         passenger.get());
  return passenger;
}

bool Engine::Impl::finish_train(Stream& stream) {
  uint32_t backend = 0;
  backends::CompletionPtr completion;
  {
    MutexLock lock(log.mutex());
    const Command* train = log.may_rest(stream);
    if (!train || train->rests_) return train != nullptr;
    backend = train->backend_;
    completion = train->completion_;
  }
  for (auto* queue : stream.existing_queues(backend)) {
    if (!queue->finish()) return false;  // each command says what has become of it
  }
  completion->poll();  // it may have an event of its own
  return rest_train(stream);
}

bool Engine::Impl::rest_train(Stream& stream) {
  MutexLock lock(log.mutex());
  Command* train = log.may_rest(stream);
  if (!train || !train->completion_->known_complete()) return false;
  planner.ended(std::exchange(train->expected_, {}));
  if (!train->rests_) log.rest(*train);
  return true;
}

void Engine::Impl::end_resting(const Stream* stream) {
  for (const auto& train : log.take_resting(stream)) finish_direct(train, CL_COMPLETE);
}

void Engine::released() { impl_->end_resting(nullptr); }

std::optional<Status> Engine::launch_again(Stream& stream, const LaunchableKernel& kernel,
                                           const LaunchShape& shape, bool local_given,
                                           ArgumentSource& arguments, Observer* observer) {
  Impl& impl = *impl_;
  const bool observed = observer != nullptr;
  const auto repeat =
      impl.log.begin_repeat(stream, kernel, shape, local_given, arguments, observed);
  if (!repeat.train) return std::nullopt;
  Command& train = *repeat.train;
  Command::Kind& kind = *repeat.kind;
  const KernelPlan& plan = *kind.plan;
  const backends::Completion* before = train.completion_.get();
  const Status launched =
      DirectPath::launch_again(stream, plan.backend, kind.vendor, observed, train.completion_);
  Expectation expected;
  if (launched) {
    stream.note_unplanned();
    expected = impl.joined(kind.work, plan);
    if (expected.devices != 0) train.expected_ = expected;
    if (train.completion_.get() == before && impl.log.end_repeat(repeat)) return launched;
    if (observed) observer->command = make_ref<Command>(*impl_, observer->type, MarkerWork{});
  }
  impl.settle(stream, train, plan.backend, expected, train.completion_, launched ? &kind : nullptr,
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
  Ref<Command> train;
  Command::Kind* kind = nullptr;
  std::shared_ptr<const KernelPlan> lasting;
  {
    MutexLock lock(log.mutex());
    lasting = log.planned_before(stream, work);
    uses = uses_of(work, nullptr);
    // Data that lie elsewhere are reason enough to think again.
    if (lasting && (!options.observed || lasting->brief) && !direct.sends(uses, lasting->backend)) {
      train = join_train(stream, work, *lasting, uses);
      if (train) {
        kind = &log.kind_of(*train, work, lasting, launches_by(*lasting), false);
        kind->brief = lasting->brief;
      }
    }
  }
  if (train) {
    stream.note_unplanned();
    return submit_to_train(train, stream, work, *lasting, uses, kind, options);
  }
  TUTTI_ASSIGN(KernelPlan plan, planner.plan(work, stream.options().backends, earliest(stream)));
  const uint32_t unplanned = stream.unplanned.exchange(0, std::memory_order_relaxed);
  const bool sampled =
      !plan.split && model.wants_sample(model_key(work), plan.backend, unplanned + 1);
  plan.brief = !plan.split && is_brief(work, plan.backend);
  // Who waits for a train waits for all that has joined it.
  const bool fits_a_train = !plan.split && !sampled && plan.why != KernelPlan::Why::kTrial &&
                            (!options.observed || plan.brief);
  lasting = lasts(plan) ? std::make_shared<const KernelPlan>(plan) : nullptr;
  if (fits_a_train) {
    if (plan.exact) uses = uses_of(work, &plan);
    MutexLock lock(log.mutex());
    train = join_train(stream, work, plan, uses);
    if (train) {
      kind = &log.kind_of(*train, work, lasting, launches_by(plan), true);
      kind->brief = plan.brief;
    }
  }
  if (train) {
    return submit_to_train(train, stream, work, plan, uses, lasting ? kind : nullptr, options);
  }
  auto command = make_ref<Command>(*this, options.type, std::move(work));
  command->observed_ = options.observed;
  command->sampled_ = sampled;
  command->is_train_ = command->open_ = fits_a_train;
  if (fits_a_train) command->plan_ = std::move(lasting);
  return enqueue(stream, std::move(command), options, std::move(plan));
}

}  // namespace tutti::scheduler
