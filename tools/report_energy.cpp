// SPDX-License-Identifier: Apache-2.0
#include "tools/report_energy.h"

#include <algorithm>

#include "scheduler/model/energy_account.h"

namespace tutti::tools {
namespace {

using scheduler::EnergyAccount;
using scheduler::EnergyTotals;
using Power = std::vector<std::pair<uint64_t, double>>;

double joules_between(const std::pair<uint64_t, double>& point,
                      const std::pair<uint64_t, double>& next) {
  return point.second * static_cast<double>(next.first - point.first) * 1e-9;
}

/// Several readings become their mean.
Power thinned_out(const Power& power) {
  const size_t step = power.size() / kMostCurvePoints + 1;
  if (step == 1) return power;
  Power points;
  for (size_t i = 0; i + 1 < power.size(); i += step) {
    const size_t end = std::min(i + step, power.size() - 1);
    double joules = 0;
    for (size_t k = i; k < end; ++k) joules += joules_between(power[k], power[k + 1]);
    const double seconds = static_cast<double>(power[end].first - power[i].first) * 1e-9;
    points.emplace_back(power[i].first, seconds > 0 ? joules / seconds : power[i].second);
  }
  points.push_back(power.back());
  return points;
}

}  // namespace

void add_energy(const TraceFile& trace, ReportNumbers& report) {
  report.energy_absent = trace.energy_absent;
  if (trace.sensors.empty()) return;
  std::vector<scheduler::SensorInfo> infos;
  for (const TraceSensor& sensor : trace.sensors) infos.push_back({sensor.name, sensor.devices});
  EnergyAccount account(std::move(infos));
  // Side by side, since old readings are kept more coarsely.
  std::vector<const TraceSlice*> runs;
  for (const TraceSlice& slice : trace.slices) {
    if (slice.kind == SliceKind::kPackage || slice.kind == SliceKind::kKernel) {
      runs.push_back(&slice);
    }
  }
  std::sort(runs.begin(), runs.end(), [](const auto* a, const auto* b) { return a->end < b->end; });
  std::vector<size_t> next(trace.sensors.size(), 0);
  const auto read_until = [&](uint64_t time) {
    for (size_t i = 0; i < trace.sensors.size(); ++i) {
      const Power& power = trace.sensors[i].power;
      for (size_t& at = next[i]; at + 1 < power.size() && power[at].first < time; ++at) {
        account.read(i, power[at].first, power[at + 1].first,
                     joules_between(power[at], power[at + 1]));
      }
    }
  };
  for (const TraceSlice* slice : runs) {
    read_until(slice->end);
    account.ran(trace.texts[slice->kernel], slice->device, slice->begin, slice->end);
  }
  read_until(UINT64_MAX);
  for (const TraceLaunch& launch : trace.launches) {
    if (launch.ended && !launch.failed) {
      account.launched(trace.texts[launch.kernel], launch.begin, launch.end);
    }
  }

  const EnergyTotals totals = account.totals();
  report.joules = totals.joules;
  report.energy_seconds = totals.seconds;
  report.energy_delay = totals.delay_product();
  for (size_t i = 0; i < trace.sensors.size(); ++i) {
    const EnergyTotals::Sensor& sensor = totals.sensors[i];
    report.sensors.push_back({trace.sensors[i].name, trace.sensors[i].devices, sensor.joules,
                              sensor.busy_joules,
                              sensor.seconds > 0 ? sensor.joules / sensor.seconds : 0,
                              thinned_out(trace.sensors[i].power)});
  }
  for (DeviceNumbers& device : report.devices) {
    const auto found = totals.devices.find(device.device.index);
    if (found != totals.devices.end()) device.joules = found->second.joules;
  }
  for (KernelNumbers& kernel : report.kernels) {
    const auto found = totals.kernels.find(kernel.name);
    if (found == totals.kernels.end()) continue;
    kernel.joules = found->second.joules;
    kernel.energy_delay = found->second.delay_product();
    for (KernelDeviceNumbers& device : kernel.devices) {
      const auto part = found->second.device.find(device.device);
      if (part != found->second.device.end()) device.joules = part->second;
    }
  }
}

}  // namespace tutti::tools
