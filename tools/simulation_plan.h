// SPDX-License-Identifier: Apache-2.0
// What `tutti simulate` is to simulate: from a scenario file and options. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/sim/scenario.h"
#include "tools/commands.h"

namespace tutti::tools {

struct SimulationPlan {
  std::vector<scheduler::sim::Scenario> scenarios;
  std::vector<std::string> balancers;  // as written; every one is parsed once
};

inline constexpr uint64_t kMostDevices = 1024;
inline constexpr uint64_t kMostSlices = uint64_t{1} << 26;  // of one launch

/// Reads options.scenario, if any. An error's message is for people.
Result<SimulationPlan> plan_simulation(const SimulateOptions& options);

}  // namespace tutti::tools
