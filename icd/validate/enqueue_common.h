// SPDX-License-Identifier: Apache-2.0
// The beginning and end of the checks that every command on a memory object has. Pure functions,
// thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

/// The wait list as the application gives it.
struct RawWaitList {
  cl_uint count = 0;
  const cl_event* events = nullptr;
};

struct OnBuffer {
  device_virtual::CommandQueue* queue = nullptr;
  device_virtual::Buffer* buffer = nullptr;  // or image
};
enum class Direction { kRead, kWrite };

/// Queue, memory object, and that they belong together. CL_MISALIGNED_SUB_BUFFER_OFFSET cannot
/// occur: all sub-buffers are aligned for every device.
Result<OnBuffer> on_memory(cl_command_queue queue, cl_mem memory);
Result<OnBuffer> on_buffer(cl_command_queue queue, cl_mem buffer);
Result<OnBuffer> on_image(cl_command_queue queue, cl_mem image);

Status check_waits(device_virtual::CommandQueue* queue, RawWaitList waits, WaitList& list);
/// The same where "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the execution status of any of
/// the events in event_wait_list is a negative integer value" is an error of the call.
Status check_waits_well(device_virtual::CommandQueue* queue, RawWaitList waits, WaitList& list);
Status may_be_accessed(const device_virtual::Buffer& memory, Direction direction);
/// The flags of clEnqueueMapBuffer and clEnqueueMapImage, apart from the object's own.
Status map_flags(cl_map_flags flags);
/// What they ask of the object.
Status may_be_mapped(const device_virtual::Buffer& memory, cl_map_flags flags);

}  // namespace tutti::icd::validate
