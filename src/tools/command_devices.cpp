// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "device_virtual/composition_devices.h"
#include "platform/config.h"
#include "tools/commands.h"

namespace tutti::tools {
namespace {

using backends::DeviceReport;
using backends::FoundDriver;

void print_json(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices) {
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
                                 {"type", backends::device_type_name(device.type)},
                                 {"used", device.used},
                                 {"reason", device.reason},
                                 {"compute_units", device.compute_units},
                                 {"memory", device.memory},
                                 {"version", device.version}});
  }
  // Vendors' names need not be UTF-8.
  fmt::print("{}\n", output.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const std::vector<FoundDriver>& drivers, const std::vector<DeviceReport>& devices,
                const Config& config) {
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
               backends::device_type_name(device.type), device.compute_units,
               device.compute_units == 1 ? "" : "s", device.memory >> 20, device.version);
    fmt::print("     {}{}\n", device.used ? "used" : "left out: ", device.reason);
  }
}

}  // namespace

int devices(bool json) {
  const Config& config = process_config();
  std::vector<DeviceReport> report;
  // Kept until the process ends, as the driver does.
  static auto backends = device_virtual::choose_devices(config, report);
  const auto& drivers = backends::vendor_loader(config).drivers();
  if (json) {
    print_json(drivers, report);
  } else {
    print_text(drivers, report, config);
  }
  return 0;
}

}  // namespace tutti::tools
