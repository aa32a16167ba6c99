// SPDX-License-Identifier: Apache-2.0
// A kernel's launch as its device's queue gets it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/access/hidden_argument.h"
#include "scheduler/access/panel_argument.h"
#include "scheduler/access/shard_argument.h"
#include "scheduler/command/work.h"

namespace tutti::scheduler {

/// The vendor's view of a kernel's arguments on a device, with `hidden` (may be empty) appended,
/// then what it may reach. With `shards`, a device may have a part of what an argument shows, and
/// that is the last argument, of the kernel's shard variant; `panels` (may be empty) comes behind
/// that, of its panel variant. `whole_buffers`: of a buffer of which
/// an argument shows a part it gets all, which that variant makes good.
/// CL_INVALID_KERNEL_ARGS: one is not set; or the device has no memory for one.
/// CL_INVALID_OPERATION: one shows a part that cannot be had without the variant, or that this does
/// not shift, such as a pointer to constants.
Result<std::vector<backends::Argument>> vendor_arguments(const ArgumentSet& arguments,
                                                         uint32_t backend,
                                                         std::span<const std::byte> hidden,
                                                         ShardArgument* shards = nullptr,
                                                         bool whole_buffers = false,
                                                         std::span<const std::byte> panels = {});

/// Whether a launch with these arguments needs the shard variant on the device, whose driver takes
/// no part of a buffer, though all of the buffers are there.
bool shifts_pointers(const ArgumentSet& arguments, const backends::DeviceTraits& device);

/// CL_INVALID_OPERATION where the kernel has none.
Result<backends::Kernel*> shard_variant(LaunchableKernel& kernel, uint32_t backend);

/// What the hidden argument tells of the whole launch.
void describe_launch(HiddenArgument& hidden, const LaunchShape& shape);

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
  struct Added {
    HiddenArgument hidden;
    ShardArgument shards;
  };
  std::unique_ptr<Added> added;  // arguments that are not the application's; mostly none
};

/// The launch of all of `work` on a device that has its buffers: kernel, arguments and sizes.
Status prepare_whole(const KernelWork& work, const backends::DeviceTraits& device, uint32_t backend,
                     VendorLaunch& made);

}  // namespace tutti::scheduler
