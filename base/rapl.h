// SPDX-License-Identifier: Apache-2.0
// The energy of the CPU packages, from RAPL counters as Linux's powercap shows them, for processors
// of Intel and AMD alike: FOLDER/intel-rapl:N/{name,energy_uj,max_energy_range_uj}.
#pragma once

#include <memory>
#include <string>

#include "base/energy_sensor.h"

namespace tutti {

/// A sensor, or why there is none.
struct FoundSensor {
  std::unique_ptr<EnergySensor> sensor;
  std::string absent;  // for a person: what is missing, and what helps
};

/// All packages of the machine together, caches and memory controllers included, as a CPU device
/// runs on all of them. Not counted: what lies within a package (core, uncore), the same packages
/// shown a second time (intel-rapl-mmio), the whole platform (psys), and memory modules (dram).
FoundSensor find_rapl(const std::string& folder);

}  // namespace tutti
