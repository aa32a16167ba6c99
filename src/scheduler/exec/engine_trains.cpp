// SPDX-License-Identifier: Apache-2.0
// The shortest way of a launch: an application that launches one small kernel after the other, and
// asks for no events, gets one command for all of them, and the vendor's queue alone keeps order.
#include "scheduler/exec/engine_impl.h"

namespace tutti::scheduler {

Result<Ref<Command>> Engine::Impl::enqueue_unobserved(Stream& stream, KernelWork work,
                                                      const EnqueueOptions& options) {
  TUTTI_ASSIGN(KernelPlan plan, planner.plan(work, stream.options().backends, earliest(stream)));
  const uint32_t backend = plan.backend;
  const bool sampled = !plan.split && model.wants_sample(model_key(work), backend);
  const bool fits_a_train = !plan.split && !sampled && plan.why != KernelPlan::Why::kTrial;
  Ref<Command> train;
  if (fits_a_train) {
    std::vector<BufferUse> uses = uses_of(work, nullptr);
    MutexLock lock(log.mutex());
    train = log.open_train(stream, backend);
    if (train && direct.sends(work, backend)) {
      for (BufferUse& use : uses) use.writes = true;
    }
    if (train && allocated(uses, {&backend, 1}) && direct.possible(work, backend) &&
        log.conflicts(*train, uses).empty()) {
      log.join(*train, work, uses);
    } else {
      train = nullptr;
    }
  }
  if (!train) {
    auto command = make_ref<Command>(engine, options.type, std::move(work));
    command->observed_ = false;
    command->sampled_ = sampled;
    command->is_train_ = command->open_ = fits_a_train;
    return enqueue(stream, std::move(command), options, std::move(plan));
  }
  auto submitted = direct.submit(work, stream, backend);
  if (submitted && summary.enabled()) {
    summary.launched_whole(work.kernel->summary().name, plan, backend);
  }
  const Expectation expected = submitted ? planner.begin(work, plan) : Expectation();
  bool somebody_waits = false;
  {
    MutexLock lock(log.mutex());
    if (expected.devices != 0) train->expected_ = expected;
    // After a failure the train is what it was before.
    somebody_waits = log.set_direct(*train, backend, submitted ? *submitted : train->completion_);
  }
  if (somebody_waits) watch(train);
  if (!submitted) return tl::unexpected<Error>(std::move(submitted).error());
  return Ref<Command>();
}

}  // namespace tutti::scheduler
