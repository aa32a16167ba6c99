// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/pci_link.h"
#include "base/progress_line.h"
#include "platform/composition_devices.h"
#include "scheduler/devices/device_health.h"
#include "scheduler/observe/energy_monitor.h"
#include "tools/commands.h"
#include "tools/device_measurement.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct DevicesOptions {
  bool json = false;
  bool measure = false;
};

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

/// By the device's index: what devices that are used fail with in a trial, as the driver makes it
/// of devices that fail.
using FailedTrials = std::map<size_t, std::string>;

FailedTrials try_all(const std::vector<std::unique_ptr<backends::Backend>>& used) {
  FailedTrials failed;
  for (const auto& backend : used) {
    if (const Status tried = scheduler::try_device(*backend); !tried) {
      failed[backend->traits().index] = tried.error().message;
    }
  }
  return failed;
}

/// The index of the device whose features and limits the virtual device shows; none where no device
/// is used.
std::optional<size_t> primary_index(const std::vector<std::unique_ptr<backends::Backend>>& used,
                                    const Config& config, const std::vector<DeviceReport>& report) {
  if (used.empty()) return std::nullopt;
  const auto preferred = platform::preferred_primary(config, report);
  return used[platform::primary_among(used, preferred)]->traits().index;
}

/// By the device's index; empty where nothing was measured.
using Measurements = std::map<size_t, DeviceMeasurement>;

/// Every device that can be used, also those that TUTTI_DEVICES leaves out.
Measurements measure_all(const std::vector<platform::FoundDevice>& devices,
                         const std::vector<DeviceReport>& report) {
  ProgressLine progress;
  Measurements measurements;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].reason.empty()) continue;
    const std::string name = fmt::format("{}  {}: ", i, report[i].label());
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

std::string measurement_text(const DeviceMeasurement& measured) {
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
  if (!text.empty()) text = fmt::format("     measured: {}\n", text);
  for (const std::string& error : measured.errors) {
    text += fmt::format("     {} {}\n", toned(Tone::kWarning, "not measured:"), error);
  }
  return text;
}

/// What is not known is null.
nlohmann::ordered_json or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}
nlohmann::ordered_json or_null(uint64_t number) {
  return number == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(number);
}
nlohmann::ordered_json link_json(const std::optional<PciLink>& link) {
  if (!link) return nullptr;
  return {{"speed", link->speed}, {"width", link->lanes}};
}

void print_json(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices,
                const Measurements& measurements, const EnergyLines& energy,
                const FailedTrials& failed, std::optional<size_t> primary) {
  nlohmann::ordered_json output{{"drivers", nlohmann::ordered_json::array()},
                                {"devices", nlohmann::ordered_json::array()}};
  for (const FoundDriver& driver : drivers) {
    output["drivers"].push_back({{"icd", driver.icd},
                                 {"library", driver.library},
                                 {"node", or_null(driver.node)},
                                 {"ok", driver.ok},
                                 {"reason", driver.reason}});
  }
  for (const DeviceReport& device : devices) {
    output["devices"].push_back({{"index", device.index},
                                 {"name", device.name},
                                 {"label", device.label()},
                                 {"platform", device.platform},
                                 {"type", platform::device_type_name(device.type)},
                                 {"used", device.used},
                                 {"reason", device.reason},
                                 {"own_process", device.apart},
                                 {"node", or_null(device.node)},
                                 {"primary", device.index == primary},
                                 {"compute_units", device.compute_units},
                                 {"memory", device.memory},
                                 {"local_memory", or_null(device.local_memory)},
                                 {"clock_mhz", or_null(device.clock_mhz)},
                                 {"version", device.version},
                                 {"driver_version", device.driver_version},
                                 {"pci_address", or_null(device.pci_address)},
                                 {"pci_link", link_json(pci_link(device.pci_address))}});
    const auto trial = failed.find(device.index);
    output["devices"].back()["works"] =
        device.used ? nlohmann::ordered_json(trial == failed.end()) : nlohmann::ordered_json();
    if (trial != failed.end()) output["devices"].back()["trial"] = trial->second;
    if (const auto line = energy.find(device.index); line != energy.end()) {
      output["devices"].back()["energy"] = {{"sensor", line->second.sensor},
                                            {"absent", line->second.absent}};
    }
    const auto measured = measurements.find(device.index);
    if (measured != measurements.end()) {
      output["devices"].back()["measured"] = json_of(measured->second);
    }
  }
  fmt::print("{}", json_text(output));
}

/// Its properties, in lines of their own where they belong together.
std::string properties_text(const DeviceReport& device) {
  std::string text = fmt::format("     {}, {}, {} compute unit{}", printable(device.platform),
                                 platform::device_type_name(device.type), device.compute_units,
                                 device.compute_units == 1 ? "" : "s");
  if (device.clock_mhz != 0) text += fmt::format(" at {} MHz", device.clock_mhz);
  text += fmt::format(", {} MiB", device.memory >> 20);
  if (device.local_memory != 0) text += fmt::format(", local {} KiB", device.local_memory >> 10);
  text += fmt::format("\n     {}, driver {}\n", printable(device.version),
                      printable(device.driver_version));
  if (device.pci_address.empty()) return text;
  text += "     PCI " + device.pci_address;
  if (const auto link = pci_link(device.pci_address)) {
    text += fmt::format(", {} lane{} of {}", link->lanes, link->lanes == 1 ? "" : "s",
                        printable(link->speed));
  }
  return text + "\n";
}

void print_text(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices,
                const Measurements& measurements, const EnergyLines& energy,
                const FailedTrials& failed, std::optional<size_t> primary, const Config& config) {
  const auto left_out = [](const std::string& reason) {
    return toned(Tone::kWarning, "left out: ") + printable(reason);
  };
  std::string text =
      fmt::format("Vendor drivers (from {}):\n",
                  config.vendors.value.empty() ? "/etc/OpenCL/vendors" : config.vendors.value);
  if (drivers.empty()) text += "  none\n";
  for (const FoundDriver& driver : drivers) {
    text += fmt::format(
        "  {}{}\n",
        printable(driver.library.empty() || !driver.node.empty() ? driver.label() : driver.library),
        driver.ok ? "" : ": " + left_out(driver.reason));
  }
  text += "\nDevices:\n";
  if (devices.empty()) text += "  none\n";
  for (const DeviceReport& device : devices) {
    text +=
        fmt::format("  {}  {}\n", device.index, toned(Tone::kStrong, printable(device.label())));
    text += properties_text(device);
    text += fmt::format(
        "     {}{}{}\n", device.used ? toned(Tone::kGood, "used") : left_out(device.reason),
        device.apart ? ", in a process of its own" : "",
        device.index == primary ? ", the primary: the Tutti device shows its features and limits"
                                : "");
    if (const auto trial = failed.find(device.index); trial != failed.end()) {
      text += fmt::format("     {} {}\n", toned(Tone::kWarning, "does not work now:"),
                          printable(trial->second));
    }
    if (const auto line = energy.find(device.index); line != energy.end()) {
      const EnergyLine& found = line->second;
      text += fmt::format("     energy: {}\n", found.sensor.empty() ? "not told: " + found.absent
                                                                    : printable(found.sensor));
    }
    const auto measured = measurements.find(device.index);
    if (measured != measurements.end()) text += measurement_text(measured->second);
  }
  put(text);
}

/// The vendor drivers and devices, those used and those not.
int devices(const DevicesOptions& options) {
  const Config& config = process_config();
  std::vector<DeviceReport> report;
  // Kept until the process ends, as the driver does.
  static auto backends = platform::choose_devices(config, report);
  const platform::VendorLoader& loader = platform::vendor_loader(config);
  Measurements measurements;
  if (options.measure) measurements = measure_all(loader.devices(), report);
  const EnergyLines energy = energy_lines(backends, config);
  const FailedTrials failed = try_all(backends);
  const std::optional<size_t> primary = primary_index(backends, config, report);
  if (options.json) {
    print_json(loader.drivers(), report, measurements, energy, failed, primary);
  } else {
    print_text(loader.drivers(), report, measurements, energy, failed, primary, config);
  }
  return 0;
}

CommandLine add_devices(CLI::App& command) {
  const auto options = std::make_shared<DevicesOptions>();
  command.add_flag("--json", options->json, "As JSON");
  command.add_flag("--measure", options->measure,
                   "Measure each device: transfers, launch latency, peak arithmetic");
  return {[options] { return devices(*options); }};
}

}  // namespace

const Command kDevicesCommand{
    "devices", "Show the vendor drivers and devices, used or left out and why", add_devices};

}  // namespace tutti::tools
