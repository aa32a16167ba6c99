// SPDX-License-Identifier: Apache-2.0
// Entry points of command buffers, but those that record commands.
#include "icd/validate/command_buffer.h"

#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {

using device_virtual::CommandBuffer;

cl_command_buffer_khr CL_API_CALL
clCreateCommandBufferKHR(cl_uint num_queues, const cl_command_queue* queues,
                         const cl_command_buffer_properties_khr* properties, cl_int* errcode_ret) {
  return entry_object(
      "clCreateCommandBufferKHR", errcode_ret, [&]() -> Result<cl_command_buffer_khr> {
        TUTTI_ASSIGN(auto call, validate::create_command_buffer(num_queues, queues, properties));
        return (new CommandBuffer(*call.queue, std::move(call.properties)))->handle();
      });
}

cl_int CL_API_CALL clRetainCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return entry("clRetainCommandBufferKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::command_buffer(command_buffer));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return entry("clReleaseCommandBufferKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::command_buffer(command_buffer));
    if (!object->release_public()) {
      return fail(CL_INVALID_COMMAND_BUFFER_KHR, "released too often");
    }
    return {};
  });
}

cl_int CL_API_CALL clFinalizeCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return entry("clFinalizeCommandBufferKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::command_buffer(command_buffer));
    return object->finalize();
  });
}

cl_int CL_API_CALL clEnqueueCommandBufferKHR(cl_uint num_queues, cl_command_queue* queues,
                                             cl_command_buffer_khr command_buffer,
                                             cl_uint num_events_in_wait_list,
                                             const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCommandBufferKHR", [&]() -> Status {
    validate::WaitList list;
    TUTTI_ASSIGN(const auto call, validate::enqueue_command_buffer(
                                      num_queues, queues, command_buffer,
                                      {num_events_in_wait_list, event_wait_list}, list));
    return call.commands->enqueue(*call.queue, list.commands(), event);
  });
}

cl_int CL_API_CALL clGetCommandBufferInfoKHR(cl_command_buffer_khr command_buffer,
                                             cl_command_buffer_info_khr param_name,
                                             size_t param_value_size, void* param_value,
                                             size_t* param_value_size_ret) {
  return entry("clGetCommandBufferInfoKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::command_buffer(command_buffer));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

}  // namespace tutti::icd
