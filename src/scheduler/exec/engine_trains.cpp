// SPDX-License-Identifier: Apache-2.0
// The shortest way of a launch: an application that launches one small kernel after the other, and
// asks for no events, gets one command for all of them, and the vendor's queue alone keeps order.
// One in sixteen of those that look the same is planned.
#include "scheduler/exec/engine_impl.h"

namespace tutti::scheduler {
namespace {

constexpr uint32_t kUnplanned = 15;

/// Nothing but the model, the load and where data lie may change what is planned next.
bool lasts(const KernelPlan& plan) {
  using Why = KernelPlan::Why;
  return !plan.exact && (plan.why == Why::kSmall || plan.why == Why::kOneDevice ||
                         plan.why == Why::kSingle || plan.why == Why::kNever);
}

}  // namespace

Ref<Command> Engine::Impl::join_train(Stream& stream, const KernelWork& work, uint32_t backend,
                                      std::span<BufferUse> uses) {
  Ref<Command> train = log.open_train(stream, backend);
  if (!train || !allocated(uses, {&backend, 1}) || !direct.possible(uses, backend)) return {};
  if (direct.sends(uses, backend)) {
    for (BufferUse& use : uses) use.writes = true;
  }
  if (!log.conflicts(*train, uses).empty()) return {};
  log.join(*train, work, uses);
  return train;
}

void Engine::Impl::joined_train(Command& train, const KernelWork& work, const KernelPlan& plan,
                                backends::CompletionPtr completion, bool failed) {
  if (!failed && summary.enabled()) {
    summary.launched_whole(work.kernel->summary().name, plan, plan.backend);
  }
  const Expectation expected = failed ? Expectation() : planner.begin(work, plan);
  Ref<Command> awaited;  // nothing else may hold the train once the lock is gone
  {
    MutexLock lock(log.mutex());
    if (expected.devices != 0) train.expected_ = expected;
    if (failed) train.joined_.objects = 0;  // what it would have changed is as it was
    if (log.set_direct(train, plan.backend, std::move(completion))) awaited = Ref<Command>(&train);
  }
  if (awaited) watch(std::move(awaited));
}

Result<Ref<Command>> Engine::Impl::submit_to_train(const Ref<Command>& train, Stream& stream,
                                                   const KernelWork& work, const KernelPlan& plan,
                                                   std::span<const BufferUse> uses) {
  auto submitted = direct.submit(work, stream, plan.backend, uses, train->joined_.vendor);
  // After a failure the train is what it was before.
  joined_train(*train, work, plan, submitted ? *submitted : train->completion_, !submitted);
  if (!submitted) return tl::unexpected<Error>(std::move(submitted).error());
  return Ref<Command>();
}

std::optional<Status> Engine::Impl::launch_again(Stream& stream, const KernelWork& work) {
  Command* train = nullptr;
  {
    MutexLock lock(log.mutex());
    train = log.join_again(stream, work);
    // Lost where another thread resets it at the same time: it only is for when to measure.
    if (train)
      stream.unplanned.store(stream.unplanned.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
  }
  if (!train) return std::nullopt;
  const KernelPlan& plan = *train->joined_.planned->plan;
  Status launched =
      direct.launch_again(work, stream, plan.backend, train->joined_.vendor, train->completion_);
  joined_train(*train, work, plan, std::move(train->completion_), !launched);
  return launched;
}

Result<Ref<Command>> Engine::Impl::enqueue_unobserved(Stream& stream, KernelWork&& work,
                                                      const EnqueueOptions& options) {
  // With new numbers only, on data that nobody has touched meanwhile.
  if (const auto launched = launch_again(stream, work)) {
    if (!*launched) return tl::unexpected<Error>(launched->error());
    return Ref<Command>();
  }
  std::vector<BufferUse> uses;
  Ref<Command> train;
  std::shared_ptr<const KernelPlan> lasting;
  {
    MutexLock lock(log.mutex());
    lasting = log.planned_before(stream, work);
    uses = uses_of(work, nullptr);
    // Data that lie elsewhere are reason enough to think again.
    if (lasting && !direct.sends(uses, lasting->backend)) {
      train = join_train(stream, work, lasting->backend, uses);
      if (train) log.joined_all_of(*train, work);
    }
  }
  if (train) {
    stream.unplanned.fetch_add(1, std::memory_order_relaxed);
    return submit_to_train(train, stream, work, *lasting, uses);
  }
  TUTTI_ASSIGN(KernelPlan plan, planner.plan(work, stream.options().backends, earliest(stream)));
  const uint32_t unplanned = stream.unplanned.exchange(0, std::memory_order_relaxed);
  const bool sampled =
      !plan.split && model.wants_sample(model_key(work), plan.backend, unplanned + 1);
  const bool fits_a_train = !plan.split && !sampled && plan.why != KernelPlan::Why::kTrial;
  lasting = lasts(plan) ? std::make_shared<const KernelPlan>(plan) : nullptr;
  if (fits_a_train) {
    if (plan.exact) uses = uses_of(work, &plan);
    MutexLock lock(log.mutex());
    train = join_train(stream, work, plan.backend, uses);
    if (train) log.will_do(*train, work, std::move(lasting), kUnplanned);
    if (train && !plan.exact) log.joined_all_of(*train, work);
  }
  if (train) return submit_to_train(train, stream, work, plan, uses);
  auto command = make_ref<Command>(engine, options.type, std::move(work));
  command->observed_ = false;
  command->sampled_ = sampled;
  command->is_train_ = command->open_ = fits_a_train;
  if (fits_a_train) {
    MutexLock lock(log.mutex());
    log.will_do(*command, std::get<KernelWork>(command->work_), std::move(lasting), kUnplanned);
  }
  return enqueue(stream, std::move(command), options, std::move(plan));
}

}  // namespace tutti::scheduler
