// SPDX-License-Identifier: Apache-2.0
// Which real devices stand behind the virtual one: part of the composition root, shared with
// `tutti devices`, which must show the same choice. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/capability_merger.h"
#include "platform/create_backends.h"
#include "platform/vendor_loader.h"
#include "scheduler/balance/balancer.h"

namespace tutti::platform {

/// Devices that are away now and take part once they answer (DeviceTraits::came_later).
enum class Away : uint8_t { kLeftOut, kWithThem };

/// The devices that take part, in the order of TUTTI_DEVICES, without those that do not fit the
/// others (devices_to_leave_out); none where all of them are away. `report` takes a line per device
/// found, in the order of their indices. Warnings go to the log.
std::vector<std::unique_ptr<backends::Backend>> choose_devices(const Config& config,
                                                               std::vector<DeviceReport>& report,
                                                               Away away = Away::kLeftOut);

/// The node that is required and does not take part; empty: there is none. Some are found out when
/// drivers are looked at, others when their devices are tried.
std::string missing_node(const std::vector<FoundDriver>& drivers,
                         const std::vector<DeviceReport>& report);

/// The balancer that the options name; a device that `single` names is given by its index. The
/// error names the balancers that there are, or the devices that take part.
Result<scheduler::BalancerSpec> chosen_balancer(const Config& config,
                                                const std::vector<DeviceReport>& report);

/// The index of the device that TUTTI_PRIMARY names; absent: it names none. The error names the
/// devices that take part.
Result<std::optional<uint32_t>> chosen_primary(const Config& config,
                                               const std::vector<DeviceReport>& report);

/// The same as BackendSet takes it; what is wrong with TUTTI_PRIMARY goes to the log.
std::optional<uint32_t> preferred_primary(const Config& config,
                                          const std::vector<DeviceReport>& report);

/// The place in `list`, which is not empty, of the primary of all its devices.
size_t primary_among(const std::vector<std::unique_ptr<backends::Backend>>& list,
                     std::optional<uint32_t> preferred);

/// `list` as the merger sees it; valid as long as the backends.
std::vector<DeviceFacts> facts_of(std::span<const backends::Backend* const> list);
std::vector<DeviceFacts> facts_of(const std::vector<std::unique_ptr<backends::Backend>>& list);

}  // namespace tutti::platform
