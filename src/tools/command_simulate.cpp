// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "platform/progress_line.h"
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
          {"complete", outcome.complete}};
}

void print_row(const Scenario& scenario, const std::string& balancer, const Outcome& outcome) {
  fmt::print("{:7}  {:18} {:11.3f} {:10.3f} {:7.3f} {:10.1f} {:8.3f} {:7.1f}{}\n",
             scenario.devices.size(), balancer, outcome.seconds * 1e3, outcome.efficiency,
             outcome.worst_efficiency, outcome.packages, outcome.balance, outcome.idle,
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
    fmt::print("{:7}  {:18} {:>11} {:>10} {:>7} {:>10} {:>8} {:>7}\n", "devices", "balancer",
               "time, ms", "efficiency", "worst", "packages", "balance", "idle");
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
