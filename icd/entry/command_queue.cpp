// SPDX-License-Identifier: Apache-2.0
// Entry points of command-queues.
#include "icd/validate/command_queue.h"

#include <type_traits>
#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

Result<cl_command_queue> make_queue(validate::CreateQueue call) {
  if (call.size_on_device != 0) {
    TUTTI_ASSIGN(auto* const queue,
                 call.context->create_queue_on(*call.device, call.properties,
                                               std::move(call.property_list), call.size_on_device));
    return queue->handle();
  }
  return (new device_virtual::CommandQueue(*call.context, *call.device, call.properties,
                                           std::move(call.property_list), call.hints))
      ->handle();
}

}  // namespace

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int* errcode_ret) {
  return entry_object("clCreateCommandQueue", errcode_ret, [&]() -> Result<cl_command_queue> {
    TUTTI_ASSIGN(auto call, validate::create_queue(context, device, properties));
    return make_queue(std::move(call));
  });
}

cl_command_queue CL_API_CALL
clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                   const cl_queue_properties* properties, cl_int* errcode_ret) {
  return entry_object(
      "clCreateCommandQueueWithProperties", errcode_ret, [&]() -> Result<cl_command_queue> {
        TUTTI_ASSIGN(auto call,
                     validate::create_queue_with_properties(context, device, properties));
        return make_queue(std::move(call));
      });
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(
    cl_context context, cl_device_id device, const cl_queue_properties_khr* properties,
    cl_int* errcode_ret) {
  static_assert(std::is_same_v<cl_queue_properties_khr, cl_queue_properties>);
  return icd::clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
}

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue command_queue) {
  return entry("clRetainCommandQueue", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::any_queue(command_queue));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue command_queue) {
  return entry("clReleaseCommandQueue", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::any_queue(command_queue));
    if (!object->release_public()) return fail(CL_INVALID_COMMAND_QUEUE, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue command_queue,
                                         cl_command_queue_info param_name, size_t param_value_size,
                                         void* param_value, size_t* param_value_size_ret) {
  return entry("clGetCommandQueueInfo", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::any_queue(command_queue));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue command_queue,
                                             cl_command_queue_properties properties, cl_bool enable,
                                             cl_command_queue_properties* old_properties) {
  return entry("clSetCommandQueueProperty", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::set_queue_property(command_queue, properties));
    TUTTI_ASSIGN(const auto before, object->set_properties(properties, enable != CL_FALSE));
    if (old_properties != nullptr) *old_properties = before;
    return {};
  });
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue command_queue) {
  return entry("clSetDefaultDeviceCommandQueue", [&]() -> Status {
    TUTTI_ASSIGN(const auto call,
                 validate::set_default_device_queue(context, device, command_queue));
    return call.context->set_default_queue(*call.device, *call.queue);
  });
}

cl_int CL_API_CALL clFlush(cl_command_queue command_queue) {
  return entry("clFlush", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::queue(command_queue));
    return object->flush();
  });
}

cl_int CL_API_CALL clFinish(cl_command_queue command_queue) {
  return entry("clFinish", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::queue(command_queue));
    return object->finish();
  });
}

}  // namespace tutti::icd
