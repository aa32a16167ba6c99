// SPDX-License-Identifier: Apache-2.0
// Checks of cl_khr_command_buffer_mutable_dispatch 0.9.5, in the specification's order. New values
// are checked beside that as clSetKernelArg and its like and clEnqueueNDRangeKernel check them.
// Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_virtual/command_buffer.h"
#include "icd/validate/enqueue_kernel.h"

namespace tutti::icd::validate {

Result<device_virtual::MutableCommand*> mutable_command(cl_mutable_command_khr handle);

/// What clCommandNDRangeKernelKHR has beside the other commands.
struct LaunchProperties {
  std::vector<cl_properties> properties;  // with the closing 0; empty if NULL
  cl_bitfield fields = 0;                 // that may be updated
};
Result<LaunchProperties> launch_properties(const device_virtual::CommandBuffer& commands,
                                           const cl_properties* properties, const size_t* local);

/// clUpdateMutableCommandsKHR, but what its configurations say.
struct UpdateCommands {
  device_virtual::CommandBuffer* commands = nullptr;
  std::vector<const device_virtual::DispatchConfig*> configs;
};
Result<UpdateCommands> update_commands(cl_command_buffer_khr handle, cl_uint num_configs,
                                       const cl_uint* types, const void* const* configs);

/// The lists of a configuration.
struct DispatchUpdate {
  std::span<const device_virtual::DispatchArgument> arguments, pointers;
  std::span<const device_virtual::DispatchExecInfo> exec_infos;
};
/// Whose the configuration is.
Result<device_virtual::MutableCommand*> updated_command(
    const device_virtual::CommandBuffer& commands, const device_virtual::DispatchConfig& config);
/// Whether such values may be updated at all; `dims`: those of the recording.
Result<DispatchUpdate> dispatch_update(device_virtual::MutableCommand& command, cl_uint dims,
                                       const device_virtual::DispatchConfig& config);

/// "CL_INVALID_OPERATION if the values of local_work_size and/or global_work_size result in a
/// change to work-group uniformity."
Status same_uniformity(const NDRangeShape& before, const NDRangeShape& after);

}  // namespace tutti::icd::validate
