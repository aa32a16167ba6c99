// SPDX-License-Identifier: Apache-2.0
// From what the real devices answer to clGetDeviceInfo, what the virtual device answers: everything
// a program may rely on holds on every device that may get its work (docs/design/devices.md,
// "Capabilities"). Pure functions on plain values; a Capabilities is immutable after creation and
// free to share by threads.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backends/api/backend.h"
#include "base/config.h"
#include "base/result.h"
#include "device_virtual/capabilities.h"

namespace tutti::platform {

/// One real device, as the merger sees it.
struct DeviceFacts {
  backends::DeviceTraits traits;
  /// The raw answer of clGetDeviceInfo, as Backend::device_info.
  std::function<Result<std::vector<std::byte>>(cl_device_info)> info;
};

using device_virtual::Capabilities;

/// `devices` is not empty; their order is the user's.
Capabilities merge_capabilities(std::span<const DeviceFacts> devices, DeviceTypeChoice type,
                                const std::string& driver_version);

struct LeftOut {
  size_t index = 0;    // into the devices given
  std::string reason;  // "has no fp64, which every other device has, and adds 2.1 % of the speed"
};
/// Devices that do not take part: those that cannot (no compiler, another address size …), and,
/// unless the user named the devices, those too poor: alone in lacking a feature that all others
/// have, with less than 5 % of the total nominal speed.
std::vector<LeftOut> devices_to_leave_out(std::span<const DeviceFacts> devices, bool named_by_user);

/// The extensions of one device that Tutti could pass on, from its CL_DEVICE_EXTENSIONS.
std::vector<std::string> passable_extensions(const DeviceFacts& device);

}  // namespace tutti::platform
