// SPDX-License-Identifier: Apache-2.0
// A kernel's launch as its device's queue gets it.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/command/work.h"

namespace tutti::scheduler {

/// The vendor's view of a kernel's arguments on a device, with `hidden` (may be empty) appended,
/// then what it may reach.
/// CL_INVALID_KERNEL_ARGS: one is not set; or the device has no memory for one.
Result<std::vector<backends::Argument>> vendor_arguments(const ArgumentSet& arguments,
                                                         uint32_t backend,
                                                         std::span<const std::byte> hidden);

/// A launch of all of `shape`, whose local size is the vendor's choice unless `local_given`. It
/// refers to `arguments`.
backends::Launch vendor_launch(backends::Kernel& kernel,
                               std::span<const backends::Argument> arguments,
                               const LaunchShape& shape, bool local_given);

/// Narrows such a launch to `count` work-groups along `dimension`, from the `first` on.
void narrow(backends::Launch& launch, const LaunchShape& shape, uint32_t dimension, uint64_t first,
            uint64_t count);

/// A launch that may be made again.
struct VendorLaunch {
  backends::Queue* queue = nullptr;
  backends::Launch launch;
  std::vector<backends::Argument> arguments;
};

}  // namespace tutti::scheduler
