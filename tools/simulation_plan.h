// SPDX-License-Identifier: Apache-2.0
// What `tutti simulate` is to simulate: from a scenario file and options. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/sim/scenario.h"

namespace tutti::tools {

struct SimulateOptions {
  std::string scenario;  // a TOML file; empty: none. What is given below wins over it
  std::string devices;   // "8", or "2,4,8": equal ones, one scenario for each number
  std::string balancers;
  std::string load;
  std::optional<uint64_t> slices, min_package, in_flight, runs, seed;
  std::optional<double> rate, startup, floor, transfer, noise, spread, error;
  std::optional<double> busy_watts, idle_watts;
  std::optional<uint64_t> hosts;
  std::optional<double> latency, link, shared_link;
  std::string objective;
  std::vector<std::string> failures;       // DEVICE@SECONDS
  std::vector<std::string> host_failures;  // HOST@SECONDS
  bool json = false;
};

struct SimulationPlan {
  std::vector<scheduler::sim::Scenario> scenarios;
  std::vector<std::string> balancers;  // as written; every one is parsed once
};

inline constexpr uint64_t kMostDevices = 1024;
inline constexpr uint64_t kMostSlices = uint64_t{1} << 26;  // of one launch

/// Reads options.scenario, if any. An error's message is for people.
Result<SimulationPlan> plan_simulation(const SimulateOptions& options);

}  // namespace tutti::tools
