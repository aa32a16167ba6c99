// SPDX-License-Identifier: Apache-2.0
// From what the real devices answer to clGetDeviceInfo, what the virtual device answers: features
// and limits are the primary's, and a kernel that uses what another device does not have does not
// run there; what all share (addresses, alignment, how precisely is computed) holds on all of them
// (docs/design/devices.md, "Capabilities"). Pure functions on plain values; a Capabilities is
// immutable after creation and free to share by threads.
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
  /// It is all that stands behind Tutti, and no part of a device.
  bool alone = false;
};

using device_virtual::Capabilities;

/// What the user chose to be seen, and this driver's version.
struct ShownAs {
  DeviceTypeChoice type = DeviceTypeChoice::kAuto;
  IdentityChoice identity = IdentityChoice::kAuto;
  std::string driver_version;
  MemorySize memory = MemorySize::kLargest;
  uint64_t host_memory = 0;  // bytes
};
/// `devices` is not empty, their order is the user's; `primary` is an index into it.
Capabilities merge_capabilities(std::span<const DeviceFacts> devices, size_t primary,
                                const ShownAs& shown);

struct LeftOut {
  size_t index = 0;    // into the devices given
  std::string reason;  // "has no compiler"
};
/// Devices that cannot take part at all: no compiler, another address size …
std::vector<LeftOut> devices_to_leave_out(std::span<const DeviceFacts> devices);

}  // namespace tutti::platform
