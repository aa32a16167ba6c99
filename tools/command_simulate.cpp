// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/progress_line.h"
#include "tools/commands.h"
#include "tools/simulation_plan.h"

namespace tutti::tools {
namespace {

using scheduler::sim::Outcome;
using scheduler::sim::Scenario;
using Json = nlohmann::ordered_json;

Json to_json(const Scenario& scenario, const std::string& balancer, const Outcome& outcome) {
  return {{"devices", scenario.devices.size()},
          {"slices", scenario.slices_per_device * scenario.devices.size()},
          {"balancer", balancer},
          {"runs", scenario.runs},
          {"seconds", outcome.seconds},
          {"efficiency", outcome.efficiency},
          {"worst_efficiency", outcome.worst_efficiency},
          {"packages", outcome.packages},
          {"balance", outcome.balance},
          {"idle_devices", outcome.idle},
          {"joules", outcome.joules},
          {"energy_delay", outcome.energy_delay},
          {"complete", outcome.complete}};
}

bool has_power(const Scenario& scenario) {
  return std::any_of(scenario.devices.begin(), scenario.devices.end(), [](const auto& device) {
    return device.busy_watts > 0 || device.idle_watts > 0;
  });
}

void print_row(const Scenario& scenario, const std::string& balancer, const Outcome& outcome) {
  const std::string energy =
      has_power(scenario) ? fmt::format(" {:10.4g} {:10.4g}", outcome.joules, outcome.energy_delay)
                          : std::string();
  fmt::print("{:7}  {:18} {:11.3f} {:10.3f} {:7.3f} {:10.1f} {:8.3f} {:7.1f}{}{}\n",
             scenario.devices.size(), balancer, outcome.seconds * 1e3, outcome.efficiency,
             outcome.worst_efficiency, outcome.packages, outcome.balance, outcome.idle, energy,
             outcome.complete ? "" : "  not completed: no device was left");
}

}  // namespace

int simulate(const SimulateOptions& options) {
  const Result<SimulationPlan> plan = plan_simulation(options);
  if (!plan) {
    fmt::print(stderr, "tutti simulate: {}\n", plan.error().message);
    return kBadUsage;
  }
  Json results = Json::array();
  if (!options.json) {
    const bool power = std::any_of(plan->scenarios.begin(), plan->scenarios.end(), has_power);
    fmt::print("{:7}  {:18} {:>11} {:>10} {:>7} {:>10} {:>8} {:>7}{}\n", "devices", "balancer",
               "time, ms", "efficiency", "worst", "packages", "balance", "idle",
               power ? fmt::format(" {:>10} {:>10}", "energy, J", "EDP, J s") : std::string());
  }
  ProgressLine progress;
  for (const Scenario& scenario : plan->scenarios) {
    for (const std::string& name : plan->balancers) {
      progress.show(fmt::format("{} devices, {}", scenario.devices.size(), name));
      const Result<Outcome> outcome =
          scheduler::sim::evaluate(scenario, scheduler::parse_balancer(name).value());
      progress.end();
      if (!outcome) {
        fmt::print(stderr, "tutti simulate: {}\n", outcome.error().message);
        return kBadUsage;
      }
      if (options.json) {
        results.push_back(to_json(scenario, name, *outcome));
      } else {
        print_row(scenario, name, *outcome);
      }
    }
  }
  if (options.json) fmt::print("{}\n", Json{{"results", results}}.dump(2));
  return 0;
}

}  // namespace tutti::tools
