// SPDX-License-Identifier: Apache-2.0
// Where a launch runs that is not split.
#include <charconv>

#include "base/clock.h"
#include "scheduler/plan/planner_parts.h"

namespace tutti::scheduler {
namespace {

// A launch goes to another device than the best one when it ends there earlier by at least so many
// seconds and this part: what is expected is not exact, and later launches follow the data.
constexpr double kWorthMovingSeconds = 2 * kSplitSeconds;
constexpr double kWorthMovingPart = 0.1;
// What it costs to go on elsewhere: one device waits for the other, and nothing is repeated.
constexpr double kCrossingSeconds = 100e-6;
// Devices of which nothing is known but what they might do are as fast as each other from here on.
constexpr double kSameSpeed = 0.8;

}  // namespace

bool Planner::devices_are_given() const {
  return settings_.split == SplitMode::kForce || settings_.objective != Objective::kTime ||
         (settings_.balancer.name == "single" && !settings_.balancer.parameters.empty());
}

void Planner::choose_device(const KernelWork& work, KernelPlan& plan, bool measured) const {
  const auto& devices = plan.participants;
  if (settings_.balancer.name == "single" && !settings_.balancer.parameters.empty()) {
    const std::string& text = settings_.balancer.parameters.front();
    uint32_t wanted = 0;  // an index of all devices
    std::from_chars(text.data(), text.data() + text.size(), wanted);
    for (const uint32_t device : devices) {
      if (backends_.traits(device).index != wanted) continue;
      plan.backend = device;
      return;
    }
  }
  if (plan.objective != Objective::kTime) return choose_by_energy(work, plan);
  const auto items = static_cast<double>(work.shape.items());
  const auto compute = [&](size_t i) {
    return measured ? plan.costs[i].seconds(items) : 1 / plan.costs[i].rate;
  };
  size_t best = 0;
  for (size_t i = 1; i < devices.size(); ++i) {
    if (compute(i) < compute(best)) best = i;
  }
  plan.backend = devices[best];
  if (!measured) return;
  const LaunchAccess* exact = exact_access(plan);
  plan.whole_seconds =
      compute(best) + costs_.whole_transfers(*work.arguments, exact, devices[best]);
  plan.whole_gather = costs_.gather(work, devices[best], 1);
  for (size_t i = 0; i < devices.size(); ++i) {
    const double least = plan.whole_until_read();
    // Who needs longer to compute alone needs no look at the transfers.
    if (i == best || compute(i) >= least) continue;
    const double seconds = compute(i) + costs_.whole_transfers(*work.arguments, exact, devices[i]);
    const double gather = costs_.gather(work, devices[i], 1);
    if (seconds + gather >= least) continue;
    plan.whole_seconds = seconds;
    plan.whole_gather = gather;
    plan.backend = devices[i];
  }
  place_by_earliest_finish(work, plan);
}

void Planner::reckon_with_others(const KernelWork& work, KernelPlan& plan) const {
  OtherProcesses& others = backends_.others();
  const uint64_t now = now_ns();
  others.look(now);
  const auto count = static_cast<double>(plan.participants.size());
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    ComputeCost& cost = plan.costs[i];
    // Of a launch that is split each device computes a part.
    const double seconds = cost.seconds(static_cast<double>(work.shape.items())) / count;
    const Contention found = others.contention(plan.participants[i], now, seconds);
    if (!found.any()) continue;
    cost.others = found.wait;
    cost.rate /= 1 + found.beside;
    cost.whole *= 1 + found.beside;
    plan.beside_others = true;
  }
}

void Planner::find_waits(const KernelWork& work, KernelPlan& plan, uint64_t ready_ns) const {
  const uint64_t ready = std::max(ready_ns, now_ns());
  plan.from_ns = ready;
  const auto wait_for = [&plan](const BufferView& view, ByteRange range) {
    range.begin += view.origin;
    range.end += view.origin;
    plan.from_ns = std::max(plan.from_ns, view.buffer->written.last(range));
  };
  if (const LaunchAccess* exact = exact_access(plan)) {
    for (const ArgumentUse& use : exact->whole()) {
      const BufferView& view = (*work.arguments)[use.argument].view;
      if (!view.buffer) continue;
      if (!use.read.empty()) wait_for(view, use.read.range);
      if (!use.write.empty()) wait_for(view, use.write.range);
    }
  } else {
    for (const ArgumentSlot& slot : *work.arguments) {
      if (!slot.has_memory()) continue;
      wait_for(slot.view, {0, slot.view.size});
    }
  }
  plan.behind_writes = plan.from_ns > ready;
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    plan.costs[i].wait = load_.wait(plan.participants[i], plan.from_ns) + plan.costs[i].others;
  }
}

void Planner::place_by_earliest_finish(const KernelWork& work, KernelPlan& plan) const {
  const auto& devices = plan.participants;
  plan.wait_seconds = plan.costs[whole_index(plan)].wait;
  plan.whole_seconds += plan.wait_seconds;
  const double margin = std::max(kWorthMovingSeconds, kWorthMovingPart * plan.whole_seconds);
  if (plan.wait_seconds < margin) return;
  const auto items = static_cast<double>(work.shape.items());
  const LaunchAccess* exact = exact_access(plan);
  const uint32_t home = plan.backend;
  double latest = plan.whole_seconds - margin;
  for (size_t i = 0; i < devices.size(); ++i) {
    double seconds = plan.costs[i].wait + plan.costs[i].seconds(items);
    if (devices[i] == home || seconds >= latest) continue;
    seconds += costs_.whole_transfers(*work.arguments, exact, devices[i]);
    const double back = costs_.return_transfers(work, devices[i], home);
    if (seconds + back >= latest) continue;
    latest = seconds + back;
    plan.backend = devices[i];
    plan.whole_seconds = seconds;
    plan.whole_gather = costs_.gather(work, devices[i], 1);
    plan.wait_seconds = plan.costs[i].wait;
    plan.moved = true;
  }
}

void Planner::stay(const KernelWork& work, KernelPlan& plan, uint32_t before) const {
  if (plan.backend == before || plan.moved || plan.why == KernelPlan::Why::kTrial ||
      devices_are_given()) {
    return;
  }
  const auto found = std::find(plan.participants.begin(), plan.participants.end(), before);
  if (found == plan.participants.end() || plan.costs.size() != plan.participants.size()) return;
  const ComputeCost& cost = plan.costs[static_cast<size_t>(found - plan.participants.begin())];
  if (plan.whole_seconds <= 0) {  // seconds are not known, speeds hardly
    const bool slower = cost.rate < kSameSpeed * plan.costs[whole_index(plan)].rate;
    if (!slower) plan.backend = before;
    return;
  }
  const double computing = cost.wait + cost.seconds(static_cast<double>(work.shape.items()));
  const double seconds =
      computing + costs_.whole_transfers(*work.arguments, exact_access(plan), before);
  const double gather = costs_.gather(work, before, 1);
  const double gain = seconds + gather - plan.whole_until_read();
  if (boundaries_.worth_leaving(model_key(work), work.shape.items(), gain, kCrossingSeconds)) {
    return;
  }
  plan.backend = before;
  plan.whole_seconds = seconds;
  plan.whole_gather = gather;
  plan.wait_seconds = cost.wait;
}

void Planner::choose_by_energy(const KernelWork& work, KernelPlan& plan) const {
  const auto items = static_cast<double>(work.shape.items());
  double least = 0;
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    const double busy = plan.costs[i].seconds(items);
    const double seconds =
        busy + costs_.whole_transfers(*work.arguments, exact_access(plan), plan.participants[i]);
    const double joules = plan.power.idle * seconds + plan.power.extra[i] * busy;
    const double value = objective_value(plan.objective, seconds, joules);
    if (i > 0 && value >= least) continue;
    least = value;
    plan.backend = plan.participants[i];
    plan.whole_seconds = seconds;
    plan.whole_joules = joules;
  }
}

void Planner::choose_whole(const KernelWork& work, KernelPlan& plan, bool measured,
                           uint64_t ready_ns) const {
  if (measured && plan.objective == Objective::kTime) find_waits(work, plan, ready_ns);
  plan.moved = false;
  choose_device(work, plan, measured);
}

}  // namespace tutti::scheduler
