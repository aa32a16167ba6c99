// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/scenario.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "scheduler/plan/pricing.h"

namespace tutti::scheduler::sim {
namespace {

/// Between 1/most and most, or 1 and most, evenly spread over orders of magnitude.
double draw_factor(std::mt19937_64& random, double least, double most) {
  if (most <= 1) return 1;
  return std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(random));
}

}  // namespace

std::pair<std::vector<Device>, Load> draw(const Scenario& scenario, uint64_t run) {
  std::mt19937_64 random(scenario.seed + run);
  std::vector<Device> devices = scenario.devices;
  for (Device& device : devices) {
    const double faster = draw_factor(random, 1, scenario.spread);
    device.rate *= faster;
    device.known.nominal_speed *= faster * draw_factor(random, 1 / scenario.error, scenario.error);
  }
  const uint64_t slices = scenario.slices_per_device * devices.size();
  return {std::move(devices), make_load(scenario.load, slices, scenario.noise, random)};
}

std::vector<size_t> participants(const std::vector<Device>& devices, Objective objective,
                                 uint64_t slices) {
  std::vector<size_t> all(devices.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (objective == Objective::kTime) return all;
  std::vector<DeviceCost> costs;
  LaunchPower power;
  for (const Device& device : devices) {
    costs.push_back({device.startup, 1 / device.known.nominal_speed + device.transfer,
                     std::max<uint64_t>(1, device.known.min_package)});
    power.idle += device.idle_watts;
    power.extra.push_back(std::max(0.0, device.busy_watts - device.idle_watts));
  }
  const SplitPrice price = price_split_for(objective, costs, power, slices);
  std::erase_if(all, [&](size_t i) { return price.shares[i] == 0; });
  return all;
}

Result<Outcome> evaluate(const Scenario& scenario, const BalancerSpec& balancer) {
  Outcome mean;
  const auto runs = static_cast<double>(scenario.runs);
  for (uint64_t number = 0; number < scenario.runs; ++number) {
    const auto [devices, load] = draw(scenario, number);
    const std::vector<size_t> places = participants(devices, scenario.objective, load.slices());
    std::vector<Device> taking_part;
    std::vector<BalancerDevice> known;
    for (const size_t i : places) {
      taking_part.push_back(devices[i]);
      known.push_back(devices[i].known);
    }
    const std::unique_ptr<Balancer> made = make_balancer(balancer, load.slices(), known);
    if (!made) {
      return fail(CL_INVALID_VALUE,
                  balancer.name + " does not split launches: there is nothing to simulate");
    }
    SimulatedRun run = simulate(*made, taking_part, load, {}, scenario.network);
    for (Package& package : run.packages) {
      package.device = static_cast<uint32_t>(places[package.device]);
    }
    std::set<uint32_t> busy;
    for (const Package& package : run.packages) {
      if (!package.lost) busy.insert(package.device);
    }
    const double efficiency = run.complete ? ideal_time(devices, load.total()) / run.end : 0;
    mean.seconds += run.end / runs;
    mean.efficiency += efficiency / runs;
    mean.worst_efficiency = std::min(mean.worst_efficiency, efficiency);
    mean.packages += static_cast<double>(run.packages.size()) / runs;
    mean.balance += load_balance(run) / runs;
    const double joules = energy_of(run, devices);
    mean.joules += joules / runs;
    mean.energy_delay += joules * run.end / runs;
    mean.idle += static_cast<double>(devices.size() - busy.size()) / runs;
    mean.complete = mean.complete && run.complete;
  }
  return mean;
}

}  // namespace tutti::scheduler::sim
