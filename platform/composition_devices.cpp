// SPDX-License-Identifier: Apache-2.0
#include "platform/composition_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::platform {

namespace {

tl::unexpected<Error> names_no_device(const std::string& what,
                                      const std::vector<DeviceReport>& report) {
  std::string known;
  for (const DeviceReport& entry : report) {
    if (!entry.used) continue;
    known += fmt::format("{}{} = {} / {}", known.empty() ? "" : ", ", entry.index, entry.platform,
                         entry.name);
  }
  return fail(CL_INVALID_VALUE,
              fmt::format("{} names no device that takes part; there are: {}", what,
                          known.empty() ? "none (tutti doctor says why)" : known));
}

}  // namespace

std::vector<DeviceFacts> facts_of(std::span<const backends::Backend* const> list) {
  std::vector<DeviceFacts> facts;
  for (const backends::Backend* device : list) {
    facts.push_back(
        {device->traits(), [device](cl_device_info what) { return device->device_info(what); }});
  }
  return facts;
}

std::vector<DeviceFacts> facts_of(const std::vector<std::unique_ptr<backends::Backend>>& list) {
  std::vector<const backends::Backend*> pointers;
  for (const auto& backend : list) pointers.push_back(backend.get());
  return facts_of(pointers);
}

std::vector<std::unique_ptr<backends::Backend>> choose_devices(const Config& config,
                                                               std::vector<DeviceReport>& report,
                                                               Away away) {
  auto list = create_backends(config, &report);
  if (away == Away::kLeftOut) {
    std::erase_if(list, [](const auto& backend) { return backend->traits().came_later; });
  }
  const std::vector<LeftOut> left_out = devices_to_leave_out(facts_of(list));
  for (auto entry = left_out.rbegin(); entry != left_out.rend(); ++entry) {
    const backends::DeviceTraits& traits = list[entry->index]->traits();
    if (traits.came_later) continue;  // it answers nothing now
    log(level_without_vendors(LogLevel::kWarning), "{} ({}) is left out: it {}", traits.device_name,
        traits.platform_name, entry->reason);
    report[traits.index].used = false;
    report[traits.index].reason = "it " + entry->reason;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(entry->index));
  }
  if (const std::string node = missing_node(vendor_loader(config).drivers(), report);
      !node.empty()) {
    log(LogLevel::kWarning, "node {} is required, so that no device is offered without it", node);
    for (DeviceReport& line : report) {
      if (!line.used) continue;
      line.used = false;
      line.reason = "the node " + node + " is required";
    }
    list.clear();
  }
  // Who comes later has to find somebody there.
  if (std::all_of(list.begin(), list.end(),
                  [](const auto& backend) { return backend->traits().came_later; })) {
    list.clear();
  }
  return list;
}

std::string missing_node(const std::vector<FoundDriver>& drivers,
                         const std::vector<DeviceReport>& report) {
  for (const FoundDriver& driver : drivers) {
    if (driver.required && !driver.ok) return driver.node;
  }
  for (const DeviceReport& line : report) {
    if (line.required && !line.used) return line.node;
  }
  return {};
}

Result<scheduler::BalancerSpec> chosen_balancer(const Config& config,
                                                const std::vector<DeviceReport>& report) {
  TUTTI_ASSIGN(scheduler::BalancerSpec spec, scheduler::parse_balancer(config.balancer.value));
  if (spec.name != "single" || spec.parameters.empty()) return spec;
  std::string& device = spec.parameters.front();
  if (const auto index = find_device(device, report)) {
    device = std::to_string(*index);
    return spec;
  }
  return names_no_device("balancer 'single:" + device + "'", report);
}

Result<std::optional<uint32_t>> chosen_primary(const Config& config,
                                               const std::vector<DeviceReport>& report) {
  const std::string& device = config.primary.value;
  if (device.empty()) return std::optional<uint32_t>();
  const auto index = find_device(device, report);
  if (!index) return names_no_device("primary '" + device + "'", report);
  return std::optional(static_cast<uint32_t>(*index));
}

std::optional<uint32_t> preferred_primary(const Config& config,
                                          const std::vector<DeviceReport>& report) {
  auto primary = chosen_primary(config, report);
  if (primary) return *primary;
  log(LogLevel::kWarning, "{} ({}); it is the fastest", primary.error().message,
      config.primary.origin);
  return std::nullopt;
}

size_t primary_among(const std::vector<std::unique_ptr<backends::Backend>>& list,
                     std::optional<uint32_t> preferred) {
  std::vector<const backends::DeviceTraits*> traits;
  for (const auto& backend : list) traits.push_back(&backend->traits());
  return scheduler::primary_of(traits, preferred);
}

}  // namespace tutti::platform
