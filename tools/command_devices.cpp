// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/progress_line.h"
#include "platform/composition_devices.h"
#include "scheduler/observe/energy_monitor.h"
#include "tools/commands.h"
#include "tools/device_measurement.h"

namespace tutti::tools {
namespace {

using platform::DeviceReport;
using platform::FoundDriver;
/// The sensor that tells a device's energy, or why there is none.
struct EnergyLine {
  std::string sensor, absent;
};
/// By the device's index; of those that are used.
using EnergyLines = std::map<size_t, EnergyLine>;

EnergyLines energy_lines(const std::vector<std::unique_ptr<backends::Backend>>& used,
                         const Config& config) {
  std::vector<const backends::DeviceTraits*> traits;
  for (const auto& backend : used) traits.push_back(&backend->traits());
  const scheduler::SensorAssignment found =
      scheduler::assign_sensors(traits, energy_sources(config.sensors.value));
  EnergyLines lines;
  for (size_t i = 0; i < traits.size(); ++i) lines[traits[i]->index].absent = found.absent[i];
  for (const scheduler::SensorInfo& sensor : found.infos) {
    for (const uint32_t i : sensor.devices) lines[traits[i]->index].sensor = sensor.name;
  }
  return lines;
}

/// By the device's index; empty where nothing was measured.
using Measurements = std::map<size_t, DeviceMeasurement>;

/// Every device that can be used, also those that TUTTI_DEVICES leaves out.
Measurements measure_all(const std::vector<platform::FoundDevice>& devices) {
  ProgressLine progress;
  Measurements measurements;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].reason.empty()) continue;
    const std::string name = fmt::format("{}  {}: ", i, devices[i].traits.device_name);
    measurements[i] = measure(devices[i], static_cast<uint32_t>(i),
                              [&](const std::string& what) { progress.show(name + what); });
  }
  return measurements;
}

nlohmann::ordered_json json_of(const DeviceMeasurement& measured) {
  nlohmann::ordered_json output;
  const auto put = [&output](const char* name, const std::optional<double>& value) {
    output[name] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  put("write_gb_per_s", measured.write);
  put("read_gb_per_s", measured.read);
  put("pinned_write_gb_per_s", measured.pinned_write);
  put("pinned_read_gb_per_s", measured.pinned_read);
  put("launch_us", measured.launch);
  put("float_gflop_per_s", measured.single_precision);
  put("double_gflop_per_s", measured.double_precision);
  output["errors"] = measured.errors;
  return output;
}

void print_measurement(const DeviceMeasurement& measured) {
  std::string text;
  const auto put = [&text](const char* format, const std::optional<double>& value) {
    if (value) text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), *value);
  };
  put("to the device {:.3g} GB/s", measured.write);
  put("back {:.3g} GB/s", measured.read);
  put("pinned to the device {:.3g} GB/s", measured.pinned_write);
  put("pinned back {:.3g} GB/s", measured.pinned_read);
  put("launch {:.3g} µs", measured.launch);
  put("float {:.3g} GFLOP/s", measured.single_precision);
  put("double {:.3g} GFLOP/s", measured.double_precision);
  if (!text.empty()) fmt::print("     measured: {}\n", text);
  for (const std::string& error : measured.errors) fmt::print("     not measured: {}\n", error);
}

void print_json(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices,
                const Measurements& measurements, const EnergyLines& energy) {
  nlohmann::ordered_json output{{"drivers", nlohmann::ordered_json::array()},
                                {"devices", nlohmann::ordered_json::array()}};
  for (const FoundDriver& driver : drivers) {
    output["drivers"].push_back({{"icd", driver.icd},
                                 {"library", driver.library},
                                 {"ok", driver.ok},
                                 {"reason", driver.reason}});
  }
  for (const DeviceReport& device : devices) {
    output["devices"].push_back({{"index", device.index},
                                 {"name", device.name},
                                 {"platform", device.platform},
                                 {"type", platform::device_type_name(device.type)},
                                 {"used", device.used},
                                 {"reason", device.reason},
                                 {"compute_units", device.compute_units},
                                 {"memory", device.memory},
                                 {"version", device.version}});
    if (const auto line = energy.find(device.index); line != energy.end()) {
      output["devices"].back()["energy"] = {{"sensor", line->second.sensor},
                                            {"absent", line->second.absent}};
    }
    const auto measured = measurements.find(device.index);
    if (measured != measurements.end()) {
      output["devices"].back()["measured"] = json_of(measured->second);
    }
  }
  // Vendors' names need not be UTF-8.
  fmt::print("{}\n", output.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices,
                const Measurements& measurements, const EnergyLines& energy, const Config& config) {
  fmt::print("Vendor drivers (from {}):\n",
             config.vendors.value.empty() ? "/etc/OpenCL/vendors" : config.vendors.value);
  if (drivers.empty()) fmt::print("  none\n");
  for (const FoundDriver& driver : drivers) {
    fmt::print("  {}{}{}\n", driver.library.empty() ? driver.icd : driver.library,
               driver.ok ? "" : ": left out: ", driver.reason);
  }
  fmt::print("\nDevices:\n");
  if (devices.empty()) fmt::print("  none\n");
  for (const DeviceReport& device : devices) {
    fmt::print("  {}  {}\n", device.index, device.name);
    fmt::print("     {}, {}, {} compute unit{}, {} MiB, {}\n", device.platform,
               platform::device_type_name(device.type), device.compute_units,
               device.compute_units == 1 ? "" : "s", device.memory >> 20, device.version);
    fmt::print("     {}{}\n", device.used ? "used" : "left out: ", device.reason);
    if (const auto line = energy.find(device.index); line != energy.end()) {
      const EnergyLine& text = line->second;
      fmt::print("     energy: {}\n",
                 text.sensor.empty() ? "not told: " + text.absent : text.sensor);
    }
    const auto measured = measurements.find(device.index);
    if (measured != measurements.end()) print_measurement(measured->second);
  }
}

}  // namespace

int devices(const DevicesOptions& options) {
  const Config& config = process_config();
  std::vector<DeviceReport> report;
  // Kept until the process ends, as the driver does.
  static auto backends = platform::choose_devices(config, report);
  const platform::VendorLoader& loader = platform::vendor_loader(config);
  Measurements measurements;
  if (options.measure) measurements = measure_all(loader.devices());
  const EnergyLines energy = energy_lines(backends, config);
  if (options.json) {
    print_json(loader.drivers(), report, measurements, energy);
  } else {
    print_text(loader.drivers(), report, measurements, energy, config);
  }
  return 0;
}

}  // namespace tutti::tools
