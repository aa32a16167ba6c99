// SPDX-License-Identifier: Apache-2.0
// How many watts each device draws: what is known, and what the planner asks. Pure logic;
// PowerModel is thread-safe (one lock, short).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_annotations.h"

namespace tutti::scheduler {

/// Sums over stretches of time in which a device's sensor was read; they add up. `idle`: no kernel
/// ran on any device of the sensor. `busy`: kernels ran for half of the time at least; where they
/// ran on several devices, joules and wall time are divided by busy time.
struct PowerSums {
  double idle_joules = 0, idle_seconds = 0;
  double busy_joules = 0, busy_wall = 0, busy_seconds = 0;

  PowerSums& operator+=(const PowerSums& other);
  /// Of the sensor, with nothing to do; absent before enough was seen.
  std::optional<double> idle_watts() const;
  /// What the device draws beyond that while it computes: from
  /// joules = idle · wall + extra · busy. Absent before enough was seen.
  std::optional<double> extra_watts() const;
  /// The older ones count for at most a minute beside newer ones.
  PowerSums aged() const;
};

/// Of one launch, watts.
struct LaunchPower {
  double idle = 0;            // of all sensors, whether their devices take part or wait
  std::vector<double> extra;  // of each device asked for, beyond that, while it computes
  bool known() const { return !extra.empty(); }
};

class PowerModel {
 public:
  /// Devices with the same sensor have their idle power in common.
  void set_sensor(uint32_t device, uint32_t sensor);
  /// All that is known of the device by now.
  void set(uint32_t device, const PowerSums& sums);
  std::optional<PowerSums> sums(uint32_t device) const;
  /// Not known() where one of the devices has no sensor, or too little was seen of it.
  LaunchPower launch_power(std::span<const uint32_t> devices) const;

 private:
  struct Known {
    uint32_t sensor = 0;
    PowerSums sums;
  };
  mutable Mutex mutex_;
  std::map<uint32_t, Known> devices_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
