// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/power_model.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

// A few readings; of less, the sensors' own steps would show.
constexpr double kEnoughSeconds = 0.1;
constexpr double kRememberedSeconds = 60;

}  // namespace

PowerSums& PowerSums::operator+=(const PowerSums& other) {
  idle_joules += other.idle_joules;
  idle_seconds += other.idle_seconds;
  busy_joules += other.busy_joules;
  busy_wall += other.busy_wall;
  busy_seconds += other.busy_seconds;
  return *this;
}

std::optional<double> PowerSums::idle_watts() const {
  if (idle_seconds < kEnoughSeconds) return std::nullopt;
  return idle_joules / idle_seconds;
}

std::optional<double> PowerSums::extra_watts() const {
  const auto idle = idle_watts();
  if (!idle || busy_seconds < kEnoughSeconds) return std::nullopt;
  return std::max(0.0, (busy_joules - *idle * busy_wall) / busy_seconds);
}

PowerSums PowerSums::aged() const {
  PowerSums sums = *this;
  if (const double part = kRememberedSeconds / idle_seconds; idle_seconds > kRememberedSeconds) {
    sums.idle_joules *= part;
    sums.idle_seconds *= part;
  }
  if (const double part = kRememberedSeconds / busy_seconds; busy_seconds > kRememberedSeconds) {
    sums.busy_joules *= part;
    sums.busy_wall *= part;
    sums.busy_seconds *= part;
  }
  return sums;
}

void PowerModel::set_sensor(uint32_t device, uint32_t sensor) {
  MutexLock lock(mutex_);
  devices_[device].sensor = sensor;
}

void PowerModel::set(uint32_t device, const PowerSums& sums) {
  MutexLock lock(mutex_);
  devices_[device].sums = sums;
}

std::optional<PowerSums> PowerModel::sums(uint32_t device) const {
  MutexLock lock(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return std::nullopt;
  return found->second.sums;
}

LaunchPower PowerModel::launch_power(std::span<const uint32_t> devices) const {
  MutexLock lock(mutex_);
  LaunchPower power;
  for (const uint32_t device : devices) {
    const auto found = devices_.find(device);
    const auto extra =
        found != devices_.end() ? found->second.sums.extra_watts() : std::optional<double>();
    if (!extra) return {};
    power.extra.push_back(*extra);
  }
  std::map<uint32_t, PowerSums> sensors;  // each once, by what all its devices saw of it
  for (const auto& [device, known] : devices_) sensors[known.sensor] += known.sums;
  for (const auto& [sensor, sums] : sensors) power.idle += sums.idle_watts().value_or(0);
  return power;
}

}  // namespace tutti::scheduler
