// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/energy_account.h"

#include <algorithm>
#include <utility>

namespace tutti::scheduler {
namespace {

constexpr size_t kMostBuckets = 4096;  // of a sensor; three minutes at 45 ms
// Runs that wait for a reading; of a sensor that is never read again they are forgotten.
constexpr size_t kMostAhead = 1 << 16;
// A part of the time in which kernels must have run for the power to be called that of computing.
constexpr double kBusy = 0.5;

double length_of(uint64_t begin_ns, uint64_t end_ns) {
  return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) : 0;
}

}  // namespace

EnergyAccount::EnergyAccount(std::vector<SensorInfo> sensors)
    : sensors_(std::move(sensors)), series_(sensors_.size()) {}

uint32_t EnergyAccount::number_of(const std::string& kernel) {
  const auto [found, added] = numbers_.try_emplace(kernel, static_cast<uint32_t>(kernels_.size()));
  if (added) kernels_.emplace_back(kernel, 0);
  return found->second;
}

void EnergyAccount::put(Bucket& bucket, const Run& run) {
  const double busy =
      length_of(std::max(bucket.begin_ns, run.begin_ns), std::min(bucket.end_ns, run.end_ns));
  if (busy > 0) bucket.add({run.kernel, run.device, busy});
}

void EnergyAccount::Bucket::add(const Part& part) {
  const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& other) {
    return other.kernel == part.kernel && other.device == part.device;
  });
  if (same == parts.end()) {
    parts.push_back(part);
  } else {
    same->busy_ns += part.busy_ns;
  }
}

void EnergyAccount::read(size_t sensor, uint64_t begin_ns, uint64_t end_ns, double joules) {
  if (end_ns <= begin_ns) return;
  first_ns_ = last_ns_ == 0 ? begin_ns : std::min(first_ns_, begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
  Series& series = series_[sensor];
  Bucket bucket{begin_ns, end_ns, joules, {}};
  for (const Run& run : series.ahead) put(bucket, run);
  std::erase_if(series.ahead, [&](const Run& run) { return run.end_ns <= end_ns; });
  series.buckets.push_back(std::move(bucket));
  if (series.buckets.size() > kMostBuckets) thin_out(sensor);
}

void EnergyAccount::ran(const std::string& kernel, uint32_t device, uint64_t begin_ns,
                        uint64_t end_ns) {
  const Run run{number_of(kernel), device, begin_ns, end_ns};
  busy_ns_[device] += length_of(begin_ns, end_ns);
  for (size_t i = 0; i < sensors_.size(); ++i) {
    const auto& served = sensors_[i].devices;
    if (std::find(served.begin(), served.end(), device) == served.end()) continue;
    Series& series = series_[i];
    // Most runs have ended just now: from the end backwards.
    for (auto bucket = series.buckets.rbegin();
         bucket != series.buckets.rend() && bucket->end_ns > begin_ns; ++bucket) {
      put(*bucket, run);
    }
    if (series.buckets.empty() || end_ns > series.buckets.back().end_ns) {
      if (series.ahead.size() >= kMostAhead) series.ahead.erase(series.ahead.begin());
      series.ahead.push_back(run);
    }
  }
}

void EnergyAccount::launched(const std::string& kernel, uint64_t begin_ns, uint64_t end_ns) {
  kernels_[number_of(kernel)].second += length_of(begin_ns, end_ns) * 1e-9;
}

void EnergyAccount::ended(uint64_t since_ns) {
  const auto found = under_way_.find(since_ns);
  if (found != under_way_.end()) under_way_.erase(found);
}

void EnergyAccount::learn(const Bucket& bucket, const SensorInfo& sensor,
                          std::map<uint32_t, PowerSums>& sums) const {
  const double seconds = length_of(bucket.begin_ns, bucket.end_ns) * 1e-9;
  double busy = 0;
  for (const Part& part : bucket.parts) busy += part.busy_ns * 1e-9;
  if (bucket.parts.empty()) {
    if (!under_way_.empty() && *under_way_.begin() < bucket.end_ns) return;
    for (const uint32_t device : sensor.devices) {
      sums[device].idle_joules += bucket.joules;
      sums[device].idle_seconds += seconds;
    }
  } else if (busy >= kBusy * seconds) {
    for (const Part& part : bucket.parts) {
      const double share = part.busy_ns * 1e-9 / busy;
      PowerSums& device = sums[part.device];
      device.busy_joules += bucket.joules * share;
      device.busy_wall += seconds * share;
      device.busy_seconds += part.busy_ns * 1e-9;
    }
  }
}

/// Of the older three quarters, two become one.
void EnergyAccount::thin_out(size_t sensor) {
  Series& series = series_[sensor];
  const size_t old = series.buckets.size() / 4 * 3;
  std::deque<Bucket> kept;
  for (size_t i = 0; i < series.buckets.size(); ++i) {
    Bucket& bucket = series.buckets[i];
    if (i < old && !bucket.learned) {
      learn(bucket, sensors_[sensor], series.learned);
      bucket.learned = true;
    }
    if (i >= old || i % 2 == 0) {
      kept.push_back(std::move(bucket));
      continue;
    }
    Bucket& before = kept.back();
    before.end_ns = bucket.end_ns;
    before.joules += bucket.joules;
    for (const Part& part : bucket.parts) before.add(part);
  }
  series.buckets = std::move(kept);
}

EnergyTotals EnergyAccount::totals() const {
  EnergyTotals totals;
  totals.seconds = length_of(first_ns_, last_ns_) * 1e-9;
  for (const auto& [name, seconds] : kernels_) totals.kernels[name].seconds = seconds;
  for (const auto& [device, busy] : busy_ns_) totals.devices[device].busy_seconds = busy * 1e-9;
  for (size_t i = 0; i < sensors_.size(); ++i) {
    for (const uint32_t device : sensors_[i].devices) totals.devices[device];
    EnergyTotals::Sensor& sensor = totals.sensors.emplace_back();
    for (const Bucket& bucket : series_[i].buckets) {
      const double length = length_of(bucket.begin_ns, bucket.end_ns);
      sensor.joules += bucket.joules;
      sensor.seconds += length * 1e-9;
      double busy = 0;
      for (const Part& part : bucket.parts) busy += part.busy_ns;
      for (const Part& part : bucket.parts) {
        const double joules = bucket.joules * part.busy_ns / std::max(length, busy);
        sensor.busy_joules += joules;
        totals.devices[part.device].joules += joules;
        EnergyTotals::Kernel& kernel = totals.kernels[kernels_[part.kernel].first];
        kernel.joules += joules;
        kernel.device[part.device] += joules;
      }
    }
    totals.joules += sensor.joules;
  }
  return totals;
}

PowerSums EnergyAccount::power(uint32_t device) const {
  std::map<uint32_t, PowerSums> sums;
  for (size_t i = 0; i < sensors_.size(); ++i) {
    const auto& served = sensors_[i].devices;
    if (std::find(served.begin(), served.end(), device) == served.end()) continue;
    for (const auto& [index, learned] : series_[i].learned) sums[index] += learned;
    for (const Bucket& bucket : series_[i].buckets) {
      if (!bucket.learned) learn(bucket, sensors_[i], sums);
    }
  }
  return sums[device];
}

}  // namespace tutti::scheduler
