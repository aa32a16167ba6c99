// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/progress_line.h"
#include "tools/commands.h"
#include "tools/simulation_plan.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using scheduler::sim::Outcome;
using scheduler::sim::Scenario;
using Json = nlohmann::ordered_json;

size_t hosts_of(const Scenario& scenario) {
  std::set<uint32_t> hosts;
  for (const auto& device : scenario.devices) hosts.insert(device.host);
  return hosts.size();
}

Json to_json(const Scenario& scenario, const std::string& balancer, const Outcome& outcome) {
  return {{"devices", scenario.devices.size()},
          {"hosts", hosts_of(scenario)},
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
  say("{:7}  {:18} {:11.3f} {:10.3f} {:7.3f} {:10.1f} {:8.3f} {:7.1f}{}{}\n",
      scenario.devices.size(), balancer, outcome.seconds * 1e3, outcome.efficiency,
      outcome.worst_efficiency, outcome.packages, outcome.balance, outcome.idle, energy,
      outcome.complete ? "" : "  not completed: no device was left");
}

int simulate(const SimulateOptions& options) {
  const Result<SimulationPlan> plan = plan_simulation(options);
  if (!plan) {
    complain("simulate", plan.error().message);
    return kBadUsage;
  }
  Json results = Json::array();
  if (!options.json) {
    const bool power = std::any_of(plan->scenarios.begin(), plan->scenarios.end(), has_power);
    say("{:7}  {:18} {:>11} {:>10} {:>7} {:>10} {:>8} {:>7}{}\n", "devices", "balancer", "time, ms",
        "efficiency", "worst", "packages", "balance", "idle",
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
        complain("simulate", outcome.error().message);
        return kBadUsage;
      }
      if (options.json) {
        results.push_back(to_json(scenario, name, *outcome));
      } else {
        print_row(scenario, name, *outcome);
      }
    }
  }
  if (options.json) fmt::print("{}", json_text(Json{{"results", results}}));
  return 0;
}

CommandLine add_simulate(CLI::App& command) {
  const auto options = std::make_shared<SimulateOptions>();
  command.footer("A scenario's keys are the options' names; [[device]] tables: docs/balancers.md.");
  command.add_option("SCENARIO", options->scenario, "TOML file; the options win over it")
      ->check(CLI::ExistingFile);
  command.add_option("--devices", options->devices, "Numbers of devices, one scenario each")
      ->type_name("N[,N...]");
  command.add_option("--balancers", options->balancers, "As TUTTI_BALANCER (default: all)")
      ->type_name("NAME[:X...],...");
  command.add_option("--slices", options->slices, "Slices of the launch per device");
  command.add_option("--load", options->load, "regular, middle or ramp: where slices are costly");
  command.add_option("--noise", options->noise, "Spread of the slices' costs, 0 to 1");
  command.add_option("--spread", options->spread, "How much faster devices may be than others");
  command.add_option("--error", options->error, "By which factor known speeds may be wrong");
  command.add_option("--rate", options->rate, "Slices per second of a device");
  command.add_option("--startup", options->startup, "Seconds that each package costs");
  command.add_option("--floor", options->floor, "Seconds that the shortest package takes");
  command.add_option("--transfer", options->transfer, "Seconds of transfer per slice");
  command.add_option("--min-package", options->min_package, "Slices that fill a device");
  command.add_option("--in-flight", options->in_flight, "Packages of a device at a time");
  command.add_option("--busy-watts", options->busy_watts, "Power of a device that computes");
  command.add_option("--idle-watts", options->idle_watts, "Power of a device that waits");
  command.add_option("--objective", options->objective,
                     "Which devices take part, as TUTTI_OBJECTIVE: time, energy or edp");
  command.add_option("--hosts", options->hosts, "Hosts that the devices are spread over");
  command.add_option("--latency", options->latency, "Seconds to another host, each way");
  command.add_option("--link", options->link, "Seconds per slice over another host's link");
  command.add_option("--shared-link", options->shared_link,
                     "Seconds per slice over the link of the program's host, for all others");
  command.add_option("--fail", options->failures, "A device that fails; may be repeated")
      ->type_name("DEVICE@SECONDS");
  command
      .add_option("--fail-host", options->host_failures,
                  "A host whose devices all fail; may be repeated")
      ->type_name("HOST@SECONDS");
  command.add_option("--runs", options->runs, "Runs, of which the means are printed");
  command.add_option("--seed", options->seed, "Of everything that is drawn at random");
  command.add_flag("--json", options->json, "As JSON");
  return {[options] { return simulate(*options); }};
}

}  // namespace

const Command kSimulateCommand{"simulate", "Try balancers out on simulated devices, up to 1024",
                               add_simulate};

}  // namespace tutti::tools
