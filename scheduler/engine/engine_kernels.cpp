// SPDX-License-Identifier: Apache-2.0
// The conducted path of kernels: whole on one device, or split.
#include "base/clock.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/balance/random.h"
#include "scheduler/engine/engine_impl.h"
#include "scheduler/engine/model_keeping.h"
#include "scheduler/run/expected_launch.h"

namespace tutti::scheduler {
namespace {

// What must move between devices from one launch to the next may take this part of the second one
// for it to begin during the first.
constexpr double kLittleBetween = 0.1;
// So many launches may have begun and wait for an earlier one's end.
constexpr size_t kMostBehind = 8;

}  // namespace

void Engine::Impl::start_kernel(const Ref<Node>& command, const KernelWork& work, KernelPlan plan) {
  if (command->allocating) {
    // Not in a device's thread, for which others may wait whose memory this needs.
    tasks.post(workers.memory(), command, [this, command, plan = std::move(plan)]() mutable {
      const auto& kernel = std::get<KernelWork>(command->work);
      const Status status = room.allocate(*command, uses_of(kernel, nullptr), plan.devices());
      if (!status) return log.finish(command, code_of(status));
      start_kernel(command, kernel, std::move(plan));
    });
    return;
  }
  const uint32_t backend = plan.backend;
  if (!plan.split) {
    tasks.post(workers.device(backend), command,
               [this, command, plan = std::move(plan)] { run_whole(command, plan); });
    return;
  }
  if (!settings.verify.on) return start_split(command, work, std::move(plan));
  // Copies what the launch may write, which takes its time.
  tasks.post(workers.device(backend), command, [this, command, plan = std::move(plan)]() mutable {
    start_split(command, std::get<KernelWork>(command->work), std::move(plan));
  });
}

void Engine::Impl::run_whole(const Ref<Node>& command, const KernelPlan& plan) {
  const auto& work = std::get<KernelWork>(command->work);
  PackageRecord ran{.device = plan.backend};
  const auto run = [&]() -> Status {
    TUTTI_ASSIGN(backends::Queue * queue, command->stream->queues.queue(plan.backend, true));
    const TransferCause cause("used by a kernel", command->trace ? command->trace->number : 0,
                              kernel_name(work));
    return executor.execute_kernel(work, uses_of(work, &plan), *queue, plan.backend, &ran);
  };
  const Status status = run();
  if (status && summary.enabled()) {
    summary.launched_whole(work, plan, plan.backend);
    summary.measured_whole(work.kernel->summary().name, model_key(work), work.shape.items(),
                           plan.backend, seconds_between(ran.start_ns, ran.end_ns));
  }
  if (status && command->trace) trace.ran(*command->trace, ran);
  whole_ended(command, plan, status, ran);
}

void Engine::Impl::whole_ended(const Ref<Node>& command, const KernelPlan& plan,
                               const Status& status, const PackageRecord& ran) {
  if (status) {
    planner.remember_whole(std::get<KernelWork>(command->work), plan.backend,
                           seconds_between(ran.start_ns, ran.end_ns));
  }
  keep_if_due(model, workers);
  planner.ended(command->expected);
  log.finish(command, code_of(status));
}

void Engine::Impl::start_split(const Ref<Node>& command, const KernelWork& work, KernelPlan plan) {
  const auto run = make_split(command, work, std::move(plan));
  post(command, run);
}

void Engine::Impl::post(const Ref<Node>& command, const std::shared_ptr<SplitRun>& run) {
  run->begin();
  for (size_t i = 0; i < run->participants(); ++i) {
    workers.device(run->backend(i))
        .post([run, i] { static_cast<void>(guarded([&] { run->take_part(i); })); },
              [run, i](const Error& why) { run->absent(i, why); });
  }
  if (!run->chainable()) return;
  workers.conductor().post_hint([this, command] {
    chain_next(command);
    read_early(command);
  });
}

void Engine::Impl::chain_next(const Ref<Node>& before) {
  if (settings.verify.on) return;  // compares one launch with what was before it
  std::shared_ptr<SplitRun> run;
  Ref<Node> next;
  {
    MutexLock lock(log.mutex());
    run = splits.of(log, *before);
    if (!run || !run->chainable()) return;
    next = log.next_kernel(*before);
  }
  if (!next) return;
  const auto& work = std::get<KernelWork>(next->work);
  const uint64_t begun_ns = next->trace ? now_ns() : 0;
  auto plan = planner.plan(work, next->stream->options().backends);
  if (!plan || !may_follow(run, work, *plan)) return;
  const auto uses = uses_of(work, &*plan);
  const auto buffers = uses_of(work, nullptr);
  for (const uint32_t device : plan->devices()) room.allocate_what_fits(buffers, device);
  {
    MutexLock lock(log.mutex());
    if (log.next_kernel(*before) != next) return;
    for (const auto& other : log.conflicts(*next, uses)) {
      // What has begun behind others waits for those, too.
      const auto ahead = splits.of(log, *other);
      auto earlier = run;
      while (earlier && earlier != ahead) earlier = earlier->before();
      if (!earlier) return;
    }
    if (!allocated(buffers, plan->devices())) return;
    log.hold(*next, uses);
    next->chained = true;
  }
  if (next->trace) trace.decided(*next->trace, work, *plan, begun_ns, now_ns());
  expect(planner, *next, *next->stream, *plan);
  const auto following = make_split(next, work, std::move(*plan));
  SplitRun::chain(run, following, [this, next, following] { post(next, following); });
}

bool Engine::Impl::may_follow(const std::shared_ptr<SplitRun>& before, const KernelWork& work,
                              KernelPlan& plan) const {
  size_t count = 0;
  for (auto earlier = before; earlier; earlier = earlier->before()) ++count;
  // Small launches without number, which nothing holds up, take a shorter way.
  if (count > kMostBehind || (!plan.split && before->whole() && count == 1)) return false;
  planner.evaluate(work, plan);
  if (plan.split ? !plan.access->regions().empty() : !plan.exact) return false;
  if (settings.split == SplitMode::kForce) return true;
  uint64_t bytes = 0;  // that move between the devices, of which the plan knows nothing yet
  for (auto earlier = before; earlier; earlier = earlier->before()) {
    bytes += earlier->bytes_between(work, plan);
  }
  const double seconds = static_cast<double>(bytes) / kLinkBytesPerSecond;
  const double expected = plan.split ? plan.priced_seconds : plan.whole_seconds - plan.wait_seconds;
  if (plan.split && expected <= 0) return false;
  return seconds <= kLittleBetween * std::max(expected, 0.0);
}

void Engine::Impl::read_early(const Ref<Node>& before) {
  if (settings.verify.on) return;
  std::shared_ptr<EarlyRead> early;
  {
    MutexLock lock(log.mutex());
    const auto next = log.next_command(*before);
    if (!next) return;
    const auto read = EarlyRead::reading(next->work);
    if (!read) return;
    const Edge edge{before, Waits::kOrder};
    if (!splits.before(log, next->work, {&edge, 1})) return;
    const auto uses = uses_of(next->work, nullptr);
    for (const auto& other : log.conflicts(*next, uses)) {
      if (other != before) return;
    }
    log.hold(*next, uses);  // or the device's memory might be taken away meanwhile
    early = std::make_shared<EarlyRead>(backends, splits.of(log, *before), *read,
                                        next->trace ? next->trace->number : 0);
    next->early = early;
  }
  early->start();
}

std::shared_ptr<SplitRun> Engine::Impl::make_split(const Ref<Node>& command, const KernelWork& work,
                                                   KernelPlan plan) {
  const uint64_t slices = plan.slices();
  const auto devices = plan.split ? planner.balancer_devices(plan) : std::vector<BalancerDevice>(1);
  std::unique_ptr<Balancer> balancer;
  if (!plan.split) {
    balancer = make_balancer({"static", {}}, slices, devices);
  } else if (settings.split == SplitMode::kForce) {
    const uint64_t seed = settings.seed + launches.fetch_add(1);
    balancer = make_random_balancer(seed, slices);
    plan.shares = random_shares(seed, slices, plan.participants.size());
  } else {
    balancer = make_balancer(settings.balancer, slices, devices);
    if (auto settled = balancer->settled_shares(); !settled.empty()) {
      plan.shares = std::move(settled);
    }
  }
  std::vector<uint64_t> rounds;
  for (const BalancerDevice& device : devices) {
    // Forced packages are as the seed says.
    rounds.push_back(settings.split == SplitMode::kForce ? 1 : device.min_package);
  }
  std::shared_ptr<Verification> verification;
  if (settings.verify.on) {
    auto begun = Verification::begin(backends, work, plan);
    if (begun) {
      verification = std::move(*begun);
    } else {
      verified.add_unverified(work.kernel->summary().name, begun.error().message);
    }
  }
  auto ended = [this, command, verification, plan](const SplitRun::Outcome& outcome) mutable {
    splits.remove(*command);
    if (!outcome.status && outcome.nothing_ran && !vendors_gone()) {
      // A whole run needs no copies to merge.
      plan.split = false;
      return run_whole(command, plan);
    }
    if (!plan.split) {
      return whole_ended(command, plan, outcome.status,
                         outcome.packages.empty() ? PackageRecord() : outcome.packages.front());
    }
    if (command->trace) {
      uint64_t begun_ns = outcome.begun_ns;  // a chained one's packages may have begun before
      for (const auto& package : outcome.packages) begun_ns = std::min(begun_ns, package.start_ns);
      trace.launched(*command->trace, begun_ns, now_ns(), !outcome.status);
    }
    if (outcome.status) {
      std::optional<double> took;
      uint64_t begun_ns = outcome.begun_ns;
      if (plan.waits()) {  // for its devices, which were busy with what is no part of it
        uint64_t first_ns = UINT64_MAX;
        for (const auto& package : outcome.packages) {
          first_ns = std::min(first_ns, package.start_ns);
        }
        begun_ns = std::max(begun_ns, first_ns);
      }
      if (!outcome.read_meanwhile) took = seconds_between(begun_ns, now_ns());
      planner.remember(std::get<KernelWork>(command->work), plan, outcome.slices, took,
                       outcome.balanced_seconds);
      keep_if_due(model, workers);
    }
    if (outcome.status && verification) {
      const Status compared = verification->compare(*command->stream, outcome.packages,
                                                    settings.verify.tolerance, verified);
      if (!compared) {
        tutti::log(LogLevel::kWarning, "verify: a launch could not be repeated: {}",
                   compared.error().message);
      }
    }
    planner.ended(command->expected);
    log.finish(command, code_of(outcome.status));
  };
  auto run = std::make_shared<SplitRun>(
      SplitRun::Parts{backends, summary, compare, trace, command->trace, std::move(rounds)}, work,
      std::move(plan), command->stream, std::move(balancer),
      [this, command, ended](const SplitRun::Outcome& outcome) mutable {
        tasks.run(command, [&] { ended(outcome); });
      });
  splits.add(command, run);
  return run;
}

}  // namespace tutti::scheduler
