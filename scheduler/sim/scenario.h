// SPDX-License-Identifier: Apache-2.0
// A situation to simulate balancers in: devices, some of whose properties are drawn at random, and
// a load. Pure data and functions of it; the same seed draws the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "scheduler/sim/simulation.h"

namespace tutti::scheduler::sim {

struct Scenario {
  std::vector<Device> devices;
  Network network;
  uint64_t slices_per_device = 1000;
  LoadShape load = LoadShape::kRegular;
  double noise = 0;   // of slices' costs: 0 none, 0.5 from half to one and a half
  double spread = 1;  // each device is up to so many times as fast as it says, drawn anew per run
  double error = 1;   // balancers are told speeds that are wrong by up to this factor
  Objective objective = Objective::kTime;  // which devices take part
  uint64_t runs = 1;                       // ≥ 1
  uint64_t seed = 1;
};

/// Devices and load of one run.
std::pair<std::vector<Device>, Load> draw(const Scenario& scenario, uint64_t run);

/// The devices that take part, by their places: all by time; else those with which the launch is
/// best by the objective, as the driver's planner chooses them from known speeds and power. One
/// device: it runs whole.
std::vector<size_t> participants(const std::vector<Device>& devices, Objective objective,
                                 uint64_t slices);

/// What came of all runs of a scenario with a balancer: means, but for the worst.
struct Outcome {
  double seconds = 0;
  double efficiency = 0;        // ideal_time / time
  double worst_efficiency = 1;  // of all runs
  double packages = 0;
  double balance = 0;  // load_balance
  double idle = 0;     // devices that computed nothing
  double joules = 0;
  double energy_delay = 0;  // joules times seconds of each run
  bool complete = true;
};

/// CL_INVALID_VALUE for `single`, which is no balancer of a launch that is split.
Result<Outcome> evaluate(const Scenario& scenario, const BalancerSpec& balancer);

}  // namespace tutti::scheduler::sim
