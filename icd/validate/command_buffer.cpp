// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/command_buffer.h"

#include <algorithm>

#include "icd/validate/property_list.h"

namespace tutti::icd::validate {

using device_virtual::CommandBuffer;
using device_virtual::CommandQueue;

namespace {

constexpr cl_command_buffer_flags_khr kDeviceSideSync = 1 << 2;  // of …_multi_device

/// A property that is known: its value.
Status command_buffer_property(cl_command_buffer_properties_khr name,
                               cl_command_buffer_properties_khr value) {
  namespace api = device_virtual;
  const bool flags = name == CL_COMMAND_BUFFER_FLAGS_KHR;
  // "CL_INVALID_VALUE if values specified in properties are not valid".
  if (!flags && name != api::kCommandBufferAsserts) {
    return tutti::fail(CL_INVALID_VALUE, "an unknown property");
  }
  constexpr cl_bitfield kFlags = api::kSimultaneousUse | api::kMutable | kDeviceSideSync;
  if ((value & ~(flags ? kFlags : api::kNoAdditionalGroups)) != 0) {
    return tutti::fail(CL_INVALID_VALUE, "unknown flags");
  }
  // "CL_INVALID_PROPERTY if values specified in properties are valid but are not supported by all
  // the devices".
  if (flags && (value & kDeviceSideSync) != 0) {
    return tutti::fail(CL_INVALID_PROPERTY, "the device has no such command buffers");
  }
  return {};
}

}  // namespace

Result<CommandBuffer*> command_buffer(cl_command_buffer_khr handle) {
  // "CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer."
  if (auto* found = device_virtual::from_handle<CommandBuffer>(handle)) return found;
  return tutti::fail(CL_INVALID_COMMAND_BUFFER_KHR, "not a valid command buffer");
}

Result<CreateCommandBuffer> create_command_buffer(
    cl_uint num_queues, const cl_command_queue* queues,
    const cl_command_buffer_properties_khr* properties) {
  CreateCommandBuffer call;
  // "CL_INVALID_VALUE if … the cl_khr_command_buffer_multi_device extension is not supported and
  // num_queues is not one." "CL_INVALID_VALUE if queues is NULL."
  if (num_queues != 1 || queues == nullptr) {
    return tutti::fail(CL_INVALID_VALUE, "a command buffer has one queue");
  }
  // "CL_INVALID_COMMAND_QUEUE if any command-queue in queues is not a valid command-queue."
  TUTTI_ASSIGN(call.queue, queue(queues[0]));
  TUTTI_ASSIGN(call.properties, property_list(properties, command_buffer_property));
  return call;
}

Result<EnqueueCommandBuffer> enqueue_command_buffer(cl_uint num_queues,
                                                    const cl_command_queue* queues,
                                                    cl_command_buffer_khr handle, RawWaitList waits,
                                                    WaitList& list) {
  EnqueueCommandBuffer call;
  TUTTI_ASSIGN(call.commands, command_buffer(handle));
  // "CL_INVALID_OPERATION if command_buffer is not in the Executable state."
  if (!call.commands->is_executable()) {
    return tutti::fail(CL_INVALID_OPERATION,
                       "the command buffer has not been finalized, or lacks an argument");
  }
  // "CL_INVALID_VALUE if queues is NULL and num_queues is > 0, or queues is not NULL and num_queues
  // is 0." "CL_INVALID_VALUE if num_queues is > 0 and not the same value as num_queues set on
  // command_buffer creation."
  if ((queues == nullptr) != (num_queues == 0) || num_queues > 1) {
    return tutti::fail(CL_INVALID_VALUE, "num_queues and queues do not fit the command buffer");
  }
  call.queue = &call.commands->queue();
  if (queues != nullptr) {
    // "CL_INVALID_COMMAND_QUEUE if any element of queues is not a valid command-queue." All
    // properties that queues can have are supported, and none is required.
    TUTTI_ASSIGN(call.queue, queue(queues[0]));
    // "CL_INVALID_DEVICE if any element of queues does not have the same device as the
    // command-queue set on command_buffer creation at the same list index."
    if (&call.queue->device() != &call.commands->queue().device()) {
      return tutti::fail(CL_INVALID_DEVICE, "the queue is of another device");
    }
    // "CL_INVALID_CONTEXT if any element of queues does not have the same context …"
    if (&call.queue->context() != &call.commands->context()) {
      return tutti::fail(CL_INVALID_CONTEXT, "the queue is of another context");
    }
  }
  // "CL_INVALID_CONTEXT if context associated with command_buffer and events in event_wait_list are
  // not the same." "CL_INVALID_EVENT_WAIT_LIST …"
  TUTTI_TRY(check_waits(call.queue, waits, list));
  return call;
}

Result<Recording> recording(const RawRecording& call) {
  Recording result;
  TUTTI_ASSIGN(result.commands, command_buffer(call.command_buffer));
  // "CL_INVALID_OPERATION if command_buffer has been finalized."
  if (result.commands->is_finalized()) {
    return tutti::fail(CL_INVALID_OPERATION, "the command buffer has been finalized");
  }
  // "CL_INVALID_COMMAND_QUEUE if the cl_khr_command_buffer_multi_device extension is not supported
  // and command_queue is not NULL."
  if (call.queue != nullptr) {
    return tutti::fail(CL_INVALID_COMMAND_QUEUE, "a queue is given");
  }
  // "CL_INVALID_VALUE if values specified in properties are not valid." There are none.
  // "CL_INVALID_VALUE if mutable_handle is not NULL."
  if ((call.properties != nullptr && *call.properties != 0) || call.mutable_handle != nullptr) {
    return tutti::fail(CL_INVALID_VALUE, "unknown properties, or a handle is asked for");
  }
  // "CL_INVALID_SYNC_POINT_WAIT_LIST_KHR if sync_point_wait_list is NULL and
  // num_sync_points_in_wait_list is > 0, or sync_point_wait_list is not NULL and
  // num_sync_points_in_wait_list is 0, or if synchronization-point objects in sync_point_wait_list
  // are not valid synchronization-points."
  if ((call.points == nullptr) != (call.num_points == 0)) {
    return tutti::fail(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
                       "sync_point_wait_list and its length contradict each other");
  }
  result.waits = {call.points, call.num_points};
  if (!std::all_of(result.waits.begin(), result.waits.end(),
                   [&](cl_sync_point_khr point) { return result.commands->has(point); })) {
    return tutti::fail(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
                       "no synchronization point of this command buffer");
  }
  result.queue = result.commands->queue().handle();
  return result;
}

}  // namespace tutti::icd::validate
