// SPDX-License-Identifier: Apache-2.0
#include "scheduler/observe/energy_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/lower_case.h"
#include "base/nvml.h"
#include "base/paragraph.h"
#include "base/rapl.h"
#include "base/trace.h"
#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

// Readings after which the planner hears what was learned.
constexpr uint32_t kRefresh = 8;
constexpr const char* kCounter = "power";

/// Devices with the same key have the same sensor; empty: no sensor is known for such devices.
std::string sensor_key(const backends::DeviceTraits& traits) {
  if (traits.type == CL_DEVICE_TYPE_CPU || traits.shares_host_memory) return "cpu";
  if (contains_ignoring_case(traits.vendor, "nvidia")) return traits.pci_address;
  return {};
}

}  // namespace

SensorAssignment assign_sensors(const std::vector<const backends::DeviceTraits*>& devices,
                                const EnergySources& sources) {
  SensorAssignment result;
  result.absent.resize(devices.size());
  std::map<std::string, size_t> made;          // sensor by key
  std::map<std::string, std::string> missing;  // why, by key
  std::unique_ptr<NvmlLibrary> nvml;
  std::string nvml_absent;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    const backends::DeviceTraits& traits = *devices[i];
    const std::string key = sensor_key(traits);
    if (key.empty()) {
      const bool nvidia = contains_ignoring_case(traits.vendor, "nvidia");
      result.absent[i] = nvidia ? "its driver does not tell its PCI address"
                                : "no sensor is known for devices of this kind";
      continue;
    }
    if (!made.contains(key) && !missing.contains(key)) {
      FoundSensor found;
      if (key == "cpu") {
        found = find_rapl(sources.powercap);
      } else {
        if (!nvml && nvml_absent.empty()) nvml = NvmlLibrary::open(sources.nvml, nvml_absent);
        found = nvml ? nvml->sensor(key) : FoundSensor{nullptr, nvml_absent};
      }
      if (found.sensor) {
        made[key] = result.sensors.size();
        result.infos.push_back({found.sensor->name(), {}});
        result.sensors.push_back(std::move(found.sensor));
      } else {
        missing[key] = found.absent;
      }
    }
    if (const auto sensor = made.find(key); sensor != made.end()) {
      result.infos[sensor->second].devices.push_back(i);
    } else {
      result.absent[i] = missing[key];
    }
  }
  return result;
}

void EnergyMonitor::start() {
  if (!settings_.wanted) return;
  std::vector<const backends::DeviceTraits*> devices;
  for (uint32_t i = 0; i < backends_.real_count(); ++i) devices.push_back(&backends_.traits(i));
  SensorAssignment found = assign_sensors(devices, settings_.sources);
  absent_ = std::move(found.absent);
  say_absent();
  if (found.sensors.empty()) return;
  book_ = std::make_shared<Book>(found.infos);
  {
    MutexLock lock(book_->mutex);
    book_->stored.resize(devices.size());
    book_->last_ns.resize(found.infos.size());
    for (uint32_t sensor = 0; sensor < found.infos.size(); ++sensor) {
      for (const uint32_t device : found.infos[sensor].devices) {
        backends_.power().set_sensor(device, sensor);
        if (objective_ == Objective::kTime) continue;
        book_->stored[device] = backends_.model().stored_power(device).value_or(PowerSums());
      }
      trace_sensor(found.infos[sensor], sensor);
    }
    refresh_power(*book_);
  }
  auto sampler = std::make_unique<EnergySampler>(std::move(found.sensors), settings_.period,
                                                 [this](const auto& readings) { take(readings); });
  if (!sampler->start()) {
    log(LogLevel::kWarning, "energy is not measured: there is no thread to be had");
    return;
  }
  sampler_ = std::move(sampler);
}

void EnergyMonitor::stop() {
  if (!sampler_) return;
  sampler_->stop();
  MutexLock lock(book_->mutex);
  if (book_->stopped) return;
  book_->stopped = true;
  const auto& sensors = book_->account.sensors();
  for (size_t i = 0; i < sensors.size(); ++i) {
    trace_power(sensors[i], book_->last_ns[i], 0);
    for (const uint32_t device : sensors[i].devices) {
      backends_.model().keep_power(device, book_->account.power(device));
    }
  }
}

void EnergyMonitor::take(const std::vector<EnergyReading>& readings) {
  MutexLock lock(book_->mutex);
  for (const EnergyReading& reading : readings) {
    book_->account.read(reading.sensor, reading.begin_ns, reading.end_ns, reading.joules);
    book_->last_ns[reading.sensor] = reading.end_ns;
    trace_power(book_->account.sensors()[reading.sensor], reading.begin_ns,
                reading.joules / seconds_between(reading.begin_ns, reading.end_ns));
  }
  if (++book_->readings % kRefresh == 0) refresh_power(*book_);
}

void EnergyMonitor::refresh_power(Book& book) const {
  if (objective_ == Objective::kTime) return;
  for (const SensorInfo& sensor : book.account.sensors()) {
    for (const uint32_t device : sensor.devices) {
      PowerSums sums = book.account.power(device);
      if (device < book.stored.size()) sums += book.stored[device].aged();
      backends_.power().set(device, sums);
    }
  }
}

std::shared_ptr<void> EnergyMonitor::under_way() {
  const uint64_t since = now_ns();
  {
    MutexLock lock(book_->mutex);
    book_->account.begun(since);
  }
  return {book_.get(), [since, book = book_](void*) {
            MutexLock lock(book->mutex);
            book->account.ended(since);
          }};
}

void EnergyMonitor::ran(const std::string& kernel, uint32_t backend, uint64_t begin_ns,
                        uint64_t end_ns) {
  MutexLock lock(book_->mutex);
  EnergyAccount& account = book_->account;
  if (backend >= backends_.real_count()) {
    // A part of a device: its sensor is the whole device's.
    const std::string key = sensor_key(backends_.traits(backend));
    for (uint32_t i = 0; i < account.sensors().size(); ++i) {
      const auto& devices = account.sensors()[i].devices;
      if (std::find(devices.begin(), devices.end(), backend) != devices.end()) break;
      if (sensor_key(backends_.traits(devices.front())) != key) continue;
      account.add_device(i, backend);
      backends_.power().set_sensor(backend, i);
      trace_sensor(account.sensors()[i], i);
      break;
    }
  }
  account.ran(kernel, backend, begin_ns, end_ns);
}

void EnergyMonitor::launched(const std::string& kernel, uint64_t begin_ns, uint64_t end_ns) {
  MutexLock lock(book_->mutex);
  book_->account.launched(kernel, begin_ns, end_ns);
}

EnergyTotals EnergyMonitor::totals() const {
  if (!on()) return {};
  MutexLock lock(book_->mutex);
  return book_->account.totals();
}

void EnergyMonitor::trace_sensor(const SensorInfo& info, size_t sensor) const {
  if (!trace::on()) return;
  std::vector<uint64_t> devices;
  for (const uint32_t device : info.devices) devices.push_back(backends_.traits(device).index);
  const uint32_t first = info.devices.front();
  trace::note("tutti_energy_sensor",
              trace::Args()
                  .add("sensor", sensor)
                  .add("name", info.name)
                  .add("devices", devices)
                  .add("row", device_process(first, backends_.traits(first))));
}

void EnergyMonitor::trace_power(const SensorInfo& info, uint64_t time_ns, double watts) const {
  if (!trace::on()) return;
  for (const uint32_t device : info.devices) {
    const uint32_t process = device_process(device, backends_.traits(device));
    trace::counter(process, kCounter, time_ns, "W", watts);
  }
}

void EnergyMonitor::say_absent() const {
  const std::string text = absent_text(true);
  if (text.empty()) return;
  if (trace::on()) trace::note("tutti_energy_absent", trace::Args().add("why", text));
  if (objective_ != Objective::kTime) {
    log(LogLevel::kWarning, "TUTTI_OBJECTIVE: launches are chosen by time: no energy is told of {}",
        text);
  } else if (settings_.needed) {
    log(LogLevel::kWarning, "TUTTI_ENERGY: no energy is told of {}", text);
  }
}

std::string EnergyMonitor::device_names(const std::vector<uint32_t>& devices) const {
  std::string names;
  for (const uint32_t device : devices) {
    const backends::DeviceTraits& traits = backends_.traits(device);
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", traits.index, traits.device_name);
  }
  return names;
}

std::string EnergyMonitor::absent_text(bool names) const {
  std::map<std::string, std::vector<uint32_t>> reasons;
  for (uint32_t i = 0; i < absent_.size(); ++i) {
    if (!absent_[i].empty()) reasons[absent_[i]].push_back(i);
  }
  std::string text;
  for (const auto& [why, devices] : reasons) {
    std::string list;
    for (const uint32_t device : devices) {
      if (!list.empty()) list += ", ";
      list += names ? device_names({device}) : std::to_string(backends_.traits(device).index);
    }
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", list, why);
  }
  return text;
}

std::string EnergyMonitor::text() const {
  if (!settings_.wanted) return {};
  const std::string absent = absent_text(false);
  if (!on()) return paragraph("  ", "energy: not measured of " + absent, 4, kSummaryColumns);
  MutexLock lock(book_->mutex);
  const EnergyTotals totals = book_->account.totals();
  std::string text =
      fmt::format("  energy: {:.4g} J in {:.4g} s, energy-delay product {:.4g} J s\n",
                  totals.joules, totals.seconds, totals.delay_product());
  for (size_t i = 0; i < totals.sensors.size(); ++i) {
    const EnergyTotals::Sensor& sensor = totals.sensors[i];
    const SensorInfo& info = book_->account.sensors()[i];
    text += fmt::format(
        "    {}: {:.4g} J, {:.4g} W on average, {:.4g} J of it while kernels ran\n", info.name,
        sensor.joules, sensor.seconds > 0 ? sensor.joules / sensor.seconds : 0, sensor.busy_joules);
    for (const uint32_t device : info.devices) {
      const auto found = totals.devices.find(device);
      text += fmt::format("      {}: {:.4g} J in {:.4g} s of computing\n", device_names({device}),
                          found->second.joules, found->second.busy_seconds);
    }
  }
  if (!absent.empty()) text += paragraph("    ", "not measured of " + absent, 6, kSummaryColumns);
  return text;
}

nlohmann::json EnergyMonitor::json() const {
  nlohmann::json absent = nlohmann::json::array();
  for (uint32_t i = 0; i < absent_.size(); ++i) {
    if (absent_[i].empty()) continue;
    absent.push_back({{"device", backends_.traits(i).index}, {"why", absent_[i]}});
  }
  nlohmann::json output = {{"measured", on()}, {"absent", std::move(absent)}};
  if (!on()) return output;
  MutexLock lock(book_->mutex);
  const EnergyTotals totals = book_->account.totals();
  nlohmann::json sensors = nlohmann::json::array(), devices = nlohmann::json::array();
  for (size_t i = 0; i < totals.sensors.size(); ++i) {
    const SensorInfo& info = book_->account.sensors()[i];
    std::vector<uint32_t> served;
    for (const uint32_t device : info.devices) {
      served.push_back(backends_.traits(device).index);
      const EnergyTotals::Device& found = totals.devices.at(device);
      devices.push_back({{"index", served.back()},
                         {"sensor", info.name},
                         {"joules", found.joules},
                         {"busy_seconds", found.busy_seconds}});
    }
    sensors.push_back({{"name", info.name},
                       {"devices", served},
                       {"joules", totals.sensors[i].joules},
                       {"busy_joules", totals.sensors[i].busy_joules},
                       {"seconds", totals.sensors[i].seconds}});
  }
  output["seconds"] = totals.seconds;
  output["joules"] = totals.joules;
  output["energy_delay"] = totals.delay_product();
  output["sensors"] = std::move(sensors);
  output["devices"] = std::move(devices);
  return output;
}

std::string EnergyMonitor::kernel_text(const EnergyTotals::Kernel& kernel) {
  return fmt::format("    energy: {:.4g} J in {:.4g} s, energy-delay product {:.4g} J s\n",
                     kernel.joules, kernel.seconds, kernel.delay_product());
}

nlohmann::json EnergyMonitor::kernel_json(const EnergyTotals::Kernel& kernel) const {
  nlohmann::json devices = nlohmann::json::array();
  for (const auto& [device, joules] : kernel.device) {
    devices.push_back({{"index", backends_.traits(device).index}, {"joules", joules}});
  }
  return {{"joules", kernel.joules},
          {"seconds", kernel.seconds},
          {"energy_delay", kernel.delay_product()},
          {"devices", std::move(devices)}};
}

}  // namespace tutti::scheduler
