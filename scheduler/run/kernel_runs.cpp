// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/kernel_runs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/balance/random.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/model_keeping.h"
#include "scheduler/run/package_use.h"

namespace tutti::scheduler {
namespace {

/// When the first package began, or `otherwise`.
uint64_t first_begin(const SplitRun::Outcome& outcome, uint64_t otherwise) {
  for (const auto& package : outcome.packages) otherwise = std::min(otherwise, package.start_ns);
  return otherwise;
}

}  // namespace

Status KernelRuns::run_once(const Ref<Node>& command, KernelPlan& plan, PackageRecord& ran,
                            bool& as_before) {
  const auto& work = std::get<KernelWork>(command->work);
  const uint32_t backend = plan.backend;
  const TransferCause cause("used by a kernel", command->trace ? command->trace->number : 0,
                            kernel_name(work));
  ContentBefore before;
  bool launched = false;
  const auto run = [&]() -> Status {
    TUTTI_ASSIGN(backends::Queue * queue, command->stream->queues.queue(backend, true));
    if (parts_.backends.health().suspect(backend)) {
      parts_.planner.evaluate(work, plan);
      if (plan.exact) TUTTI_TRY(before.keep(uses_of_package(work, plan, backend, 0, 1)));
    }
    // What was planned has it, mostly; where that fails, another device comes unawares.
    parts_.room.allocate_at_once(uses_of(work, nullptr), backend);
    return parts_.executor.execute_kernel(work, uses_of(work, &plan), *queue, backend, ran,
                                          launched);
  };
  Status status = run();
  parts_.backends.health().note(backend, status);
  if (!status && parts_.backends.may_write_late(backend)) return status;
  if (status || !launched) {
    as_before = !status;
    return status;
  }
  parts_.planner.evaluate(work, plan);
  as_before = plan.exact && before.restore(uses_of_package(work, plan, backend, 0, 1));
  return status;
}

void KernelRuns::run_whole(const Ref<Node>& command, KernelPlan plan, bool not_late) {
  const auto& work = std::get<KernelWork>(command->work);
  BackendMask left = command->stream->options().backends;
  PackageRecord ran;
  Status status;
  for (;;) {
    ran = {.device = plan.backend};
    bool as_before = false;
    if (not_late && (parts_.backends.health().late() & backend_bit(plan.backend)) != 0) {
      status = fail(CL_OUT_OF_RESOURCES, "the device takes long for a part of this launch");
      as_before = true;
    } else {
      status = run_once(command, plan, ran, as_before);
    }
    // What its uses might disturb on a late device, this has not waited for.
    left &= ~(backend_bit(plan.backend) | parts_.backends.health().late());
    if (status) break;
    auto next = as_before && left != 0 && !vendors_gone()
                    ? parts_.planner.plan(work, left)
                    : Result<KernelPlan>(fail(status.error().code));
    if (!next) {
      const NotAnew why = as_before    ? NotAnew::kRefused
                          : plan.exact ? NotAnew::kOverwritten
                                       : NotAnew::kUnknown;
      std::vector<PackageUse> uses;
      if (why == NotAnew::kOverwritten) uses = uses_of_package(work, plan, plan.backend, 0, 1);
      tell_given_up(work, why, status.error(), uses);
      break;
    }
    plan = std::move(*next);
    plan.split = false;
  }
  if (status && parts_.summary.enabled()) {
    parts_.summary.launched_whole(work, plan, plan.backend);
    parts_.summary.measured_whole(work.kernel->summary().name, model_key(work), work.shape.items(),
                                  plan.backend, seconds_between(ran.start_ns, ran.end_ns));
  }
  if (status && command->trace) parts_.trace.ran(*command->trace, ran);
  whole_ended(command, plan, status, ran);
}

std::vector<uint32_t> KernelRuns::voters(const KernelWork& work, BackendMask allowed) {
  std::vector<VoterChoice::Candidate> candidates;
  allowed = parts_.backends.health().usable(allowed) & work.kernel->built_on();
  const auto items = static_cast<double>(work.shape.items());
  for (BackendMask left = allowed; left != 0; left &= left - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(left));
    const auto speed = parts_.model.speed(model_key(work), backend);
    candidates.push_back(
        {.backend = backend,
         .seconds = items / speed.value_or(parts_.backends.traits(backend).nominal_gflops * 1e9),
         .votes = parts_.backends.health().votes(backend)});
  }
  return voter_choice_.order(std::move(candidates));
}

void KernelRuns::run_voted(const Ref<Node>& command, KernelPlan plan) {
  const auto& work = std::get<KernelWork>(command->work);
  const std::string& name = work.kernel->summary().name;
  auto uses = uses_of(work, &plan);  // as the command holds them
  parts_.planner.evaluate(work, plan);
  std::string why = Vote::unvotable(plan);
  std::optional<Status> decided;
  if (why.empty()) {
    const auto devices = voters(work, command->stream->options().backends);
    for (const uint32_t device : devices) parts_.room.allocate_at_once(uses, device);
    Vote vote(parts_.backends, work, plan, std::move(uses), parts_.settings.verify.tolerance);
    if (devices.size() > 1) decided = vote.decide(*command->stream, devices);
    for (const Vote::Outcome& outcome : vote.outcomes()) {
      parts_.backends.health().note_vote(outcome.backend, outcome.right);
      parts_.trace.voted(outcome.backend, name, outcome.begun_ns, outcome.ended_ns, outcome.right);
    }
    if (decided && !*decided) {
      tutti::log(level_without_vendors(LogLevel::kError), "verify: kernel {}: {}", name,
                 decided->error().message);
    }
    why = "fewer than two devices could compute it";
  }
  if (!decided) {
    parts_.verified.add_unverified(name, why);
    plan.split = false;
    return run_whole(command, std::move(plan));
  }
  if (*decided && parts_.summary.enabled()) {
    plan.split = false;
    parts_.summary.launched_whole(work, plan, plan.backend);
  }
  parts_.verified.add(name, !*decided, *decided ? std::string() : decided->error().message);
  parts_.planner.ended(command->expected);
  parts_.log.finish(command, code_of(*decided));
}

void KernelRuns::whole_ended(const Ref<Node>& command, const KernelPlan& plan, const Status& status,
                             const PackageRecord& ran) {
  if (status && !plan.beside_others) {
    parts_.planner.remember_whole(std::get<KernelWork>(command->work), plan.backend,
                                  seconds_between(ran.start_ns, ran.end_ns));
  }
  keep_if_due(parts_.model, parts_.workers);
  parts_.planner.ended(command->expected);
  finish(command, status);
}

void KernelRuns::finish(const Ref<Node>& command, const Status& status) {
  if (parts_.backends.health().lost() == 0) return parts_.log.finish(command, code_of(status));
  const auto work = std::get<KernelWork>(command->work);  // which ends with the command
  parts_.log.finish(command, code_of(status));
  lose_results(parts_.log, parts_.backends, work);
}

std::unique_ptr<Balancer> KernelRuns::balancer_for(KernelPlan& plan,
                                                   const std::vector<BalancerDevice>& devices) {
  const EngineSettings& settings = parts_.settings;
  const uint64_t slices = plan.slices();
  if (!plan.split) return make_balancer({"static", {}}, slices, devices);
  if (settings.split == SplitMode::kForce) {
    const uint64_t seed = settings.seed + launches_.fetch_add(1);
    // With shards the shares are what there is memory for.
    if (!plan.sharded()) plan.shares = random_shares(seed, slices, plan.participants.size());
    return make_random_balancer(seed, slices);
  }
  auto balancer = make_balancer(settings.balancer, slices, devices);
  if (auto settled = balancer->settled_shares(); !settled.empty() && !plan.sharded()) {
    plan.shares = std::move(settled);
  }
  return balancer;
}

std::shared_ptr<Verification> KernelRuns::verification_of(const KernelWork& work,
                                                          const KernelPlan& plan) {
  if (!parts_.settings.verify.on) return nullptr;
  auto begun = Verification::begin(parts_.backends, work, plan);
  if (begun) return std::move(*begun);
  parts_.verified.add_unverified(work.kernel->summary().name, begun.error().message);
  return nullptr;
}

bool KernelRuns::looks_ahead(const Stream& stream) const {
  const EngineSettings& settings = parts_.settings;
  if (settings.verify.on || stream.options().out_of_order) return false;
  if (settings.look_ahead != LookAhead::kAuto) return settings.look_ahead == LookAhead::kAlways;
  for (uint32_t i = 0; i < parts_.backends.real_count(); ++i) {
    if (parts_.backends.place(i) != kHostPlace && !parts_.backends.traits(i).serial) return true;
  }
  return false;
}

std::shared_ptr<Prefetch> KernelRuns::prefetch_of(const Ref<Node>& command, const KernelWork& work,
                                                  const KernelPlan& plan) {
  if (!looks_ahead(*command->stream)) return nullptr;
  const EngineSettings& settings = parts_.settings;
  const auto [next, expected] = sequences_.begins(command->stream->number(), launch_id(work));
  if (expected) parts_.summary.guessed(*expected);
  const bool disjoint = plan.split && !plan.sharded() && plan.access->regions().empty();
  if (!next || !disjoint || parts_.backends.health().lost() != 0) return nullptr;
  return Prefetch::of(
      {parts_.backends, parts_.workers, parts_.summary, settings.look_ahead == LookAhead::kAlways,
       settings.split == SplitMode::kForce},
      work, plan, *next, command->trace ? command->trace->number : 0);
}

std::shared_ptr<SplitRun> KernelRuns::prepare(const Ref<Node>& command, const KernelWork& work,
                                              KernelPlan plan) {
  const auto devices =
      plan.split ? parts_.planner.balancer_devices(plan) : std::vector<BalancerDevice>(1);
  auto balancer = balancer_for(plan, devices);
  std::vector<uint64_t> rounds;
  for (const BalancerDevice& device : devices) {
    // Forced packages are as the seed says.
    rounds.push_back(parts_.settings.split == SplitMode::kForce ? 1 : device.min_package);
  }
  auto ended = [this, command, verification = verification_of(work, plan),
                plan](const SplitRun::Outcome& outcome) mutable {
    parts_.tasks.run(command, [&] { split_ended(command, plan, verification.get(), outcome); });
  };
  auto prefetch = prefetch_of(command, work, plan);
  auto run = std::make_shared<SplitRun>(
      SplitRun::Parts{parts_.backends, parts_.workers, parts_.summary, parts_.compare, parts_.trace,
                      command->trace, std::move(rounds), command,
                      // With verification the whole launch is repeated where it ran.
                      parts_.settings.verify.on ? nullptr : &parts_.overdue, std::move(prefetch)},
      work, std::move(plan), command->stream, std::move(balancer), std::move(ended));
  parts_.splits.add(command, run);
  return run;
}

void KernelRuns::begin(const std::shared_ptr<SplitRun>& run) {
  run->begin();
  for (size_t i = 0; i < run->participants(); ++i) {
    Worker& worker = parts_.workers.device(run->backend(i));
    worker.post([run, i] { static_cast<void>(guarded([&] { run->take_part(i); })); },
                [run, i](const Error& why) { run->absent(i, why); });
  }
}

void KernelRuns::split_ended(const Ref<Node>& command, KernelPlan& plan, Verification* verification,
                             const SplitRun::Outcome& outcome) {
  parts_.splits.remove(*command);
  if (!outcome.status && outcome.nothing_ran && !vendors_gone()) {
    // A whole run needs no copies to merge.
    plan.split = false;
    return run_whole(command, plan, outcome.went_without);
  }
  if (!plan.split) {
    return whole_ended(command, plan, outcome.status,
                       outcome.packages.empty() ? PackageRecord() : outcome.packages.front());
  }
  if (command->trace) {
    // A chained one's packages may have begun before it.
    parts_.trace.launched(*command->trace, first_begin(outcome, outcome.begun_ns), now_ns(),
                          !outcome.status);
  }
  if (outcome.status && !outcome.went_without) {
    if (looks_ahead(*command->stream)) {
      sequences_.ended(command->stream->number(), launch_id(std::get<KernelWork>(command->work)),
                       reads_of(outcome.uses));
    }
    remember(std::get<KernelWork>(command->work), plan, outcome);
    keep_if_due(parts_.model, parts_.workers);
  }
  if (outcome.status && verification) {
    const Status compared = verification->compare(
        *command->stream, outcome.packages, parts_.settings.verify.tolerance, parts_.verified);
    if (!compared) {
      tutti::log(level_without_vendors(LogLevel::kWarning),
                 "verify: a launch could not be repeated: {}", compared.error().message);
    }
  }
  parts_.planner.ended(command->expected);
  finish(command, outcome.status);
}

void KernelRuns::remember(const KernelWork& work, const KernelPlan& plan,
                          const SplitRun::Outcome& outcome) {
  uint64_t begun_ns = outcome.begun_ns;
  // Its devices were busy before with what is no part of it.
  if (plan.waits()) begun_ns = std::max(begun_ns, first_begin(outcome, UINT64_MAX));
  std::optional<double> took;
  if (!outcome.read_meanwhile) took = seconds_between(begun_ns, now_ns());
  parts_.planner.remember(work, plan, outcome.slices, took, outcome.balanced_seconds);
}

}  // namespace tutti::scheduler
