// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

namespace {

/// `find` looks the memory object up, and says what it must be.
Result<OnBuffer> on(cl_command_queue queue_handle, cl_mem memory_handle,
                    Result<device_virtual::Buffer*> (*find)(cl_mem)) {
  OnBuffer found;
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN(found.queue, queue(queue_handle));
  // "CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object" (image, memory object).
  TUTTI_ASSIGN(found.buffer, find(memory_handle));
  // "CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same".
  if (&found.queue->context() != &found.buffer->context()) {
    return fail(CL_INVALID_CONTEXT, "queue and memory object are of different contexts");
  }
  return found;
}

}  // namespace

Result<OnBuffer> on_memory(cl_command_queue queue_handle, cl_mem memory_handle) {
  return on(queue_handle, memory_handle, &memory);
}

Result<OnBuffer> on_buffer(cl_command_queue queue_handle, cl_mem buffer_handle) {
  return on(queue_handle, buffer_handle, &buffer);
}

Result<OnBuffer> on_image(cl_command_queue queue_handle, cl_mem image_handle) {
  return on(queue_handle, image_handle, &image);
}

Status check_waits(device_virtual::CommandQueue* queue, RawWaitList waits, WaitList& list) {
  return wait_list(queue->context(), waits.count, waits.events, list);
}

Status check_waits_well(device_virtual::CommandQueue* queue, RawWaitList waits, WaitList& list) {
  TUTTI_TRY(check_waits(queue, waits, list));
  for (scheduler::Command* const command : list.commands()) {
    if (command->status() < 0) {
      return fail(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "an event has failed");
    }
  }
  return {};
}

Status may_be_accessed(const device_virtual::Buffer& memory, Direction direction) {
  // "CL_INVALID_OPERATION if clEnqueueReadBuffer is called on buffer which has been created with
  // CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS." "… clEnqueueWriteBuffer … with
  // CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_NO_ACCESS." Likewise for images.
  const cl_mem_flags forbidding =
      CL_MEM_HOST_NO_ACCESS |
      (direction == Direction::kRead ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY);
  if ((memory.flags() & forbidding) != 0) {
    return fail(CL_INVALID_OPERATION, "the memory object's host access flags forbid this");
  }
  return {};
}

Status map_flags(cl_map_flags flags) {
  constexpr cl_map_flags kReadWrite = CL_MAP_READ | CL_MAP_WRITE;
  const bool valid = (flags & ~(kReadWrite | CL_MAP_WRITE_INVALIDATE_REGION)) == 0 &&
                     // "CL_MAP_READ or CL_MAP_WRITE and CL_MAP_WRITE_INVALIDATE_REGION are mutually
                     // exclusive."
                     ((flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 || (flags & kReadWrite) == 0);
  // "CL_INVALID_VALUE … if values specified in map_flags are not valid."
  if (!valid) return fail(CL_INVALID_VALUE, "invalid map flags");
  return {};
}

Status may_be_mapped(const device_virtual::Buffer& memory, cl_map_flags flags) {
  // "CL_INVALID_OPERATION if buffer has been created with CL_MEM_HOST_WRITE_ONLY or
  // CL_MEM_HOST_NO_ACCESS and CL_MAP_READ is set in map_flags or if buffer has been created with
  // CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_NO_ACCESS and CL_MAP_WRITE or
  // CL_MAP_WRITE_INVALIDATE_REGION is set in map_flags."
  if ((flags & CL_MAP_READ) != 0) TUTTI_TRY(may_be_accessed(memory, Direction::kRead));
  if ((flags & device_virtual::kMapForWriting) != 0) {
    TUTTI_TRY(may_be_accessed(memory, Direction::kWrite));
  }
  return {};
}

}  // namespace tutti::icd::validate
