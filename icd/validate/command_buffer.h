// SPDX-License-Identifier: Apache-2.0
// Checks of cl_khr_command_buffer 0.9.8, in the specification's order. What commands are checked
// for beside that is what the clEnqueue… of the same kind checks. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <span>
#include <vector>

#include "device_virtual/command_buffer.h"
#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

Result<device_virtual::CommandBuffer*> command_buffer(cl_command_buffer_khr handle);

struct CreateCommandBuffer {
  device_virtual::CommandQueue* queue = nullptr;
  std::vector<cl_command_buffer_properties_khr> properties;  // with the closing 0; empty if NULL
};
Result<CreateCommandBuffer> create_command_buffer(
    cl_uint num_queues, const cl_command_queue* queues,
    const cl_command_buffer_properties_khr* properties);

struct EnqueueCommandBuffer {
  device_virtual::CommandBuffer* commands = nullptr;
  device_virtual::CommandQueue* queue = nullptr;
};
Result<EnqueueCommandBuffer> enqueue_command_buffer(cl_uint num_queues,
                                                    const cl_command_queue* queues,
                                                    cl_command_buffer_khr handle, RawWaitList waits,
                                                    WaitList& list);

/// What all clCommand… have. Those of clCommandNDRangeKernelKHR that others have not are checked
/// elsewhere (icd/validate/mutable_command.h).
struct RawRecording {
  cl_command_buffer_khr command_buffer = nullptr;
  cl_command_queue queue = nullptr;
  const cl_properties* properties = nullptr;  // likewise
  cl_uint num_points = 0;
  const cl_sync_point_khr* points = nullptr;
  const cl_mutable_command_khr* mutable_handle = nullptr;  // NULL where it may be given
};
struct Recording {
  device_virtual::CommandBuffer* commands = nullptr;
  cl_command_queue queue = nullptr;  // that the commands are checked for
  std::span<const cl_sync_point_khr> waits;
};
Result<Recording> recording(const RawRecording& call);

}  // namespace tutti::icd::validate
