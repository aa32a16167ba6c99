// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/command_queue.h"

#include <CL/cl_ext.h>

namespace tutti::icd::validate {
namespace {

constexpr cl_command_queue_properties kHostBits =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
constexpr cl_command_queue_properties kDeviceBits = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

Result<CreateQueue> context_with_device(cl_context context_handle, cl_device_id device_handle) {
  CreateQueue call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_DEVICE if device is not a valid device or is not associated with context."
  TUTTI_ASSIGN(call.device, device(device_handle));
  if (!call.context->has(call.device)) {
    return fail(CL_INVALID_DEVICE, "the device is not of this context");
  }
  return call;
}

/// One of …_HIGH_KHR, …_MED_KHR and …_LOW_KHR, which are the same of both kinds of hints.
bool is_hint(cl_queue_properties value) {
  static_assert(CL_QUEUE_PRIORITY_HIGH_KHR == CL_QUEUE_THROTTLE_HIGH_KHR &&
                CL_QUEUE_PRIORITY_MED_KHR == CL_QUEUE_THROTTLE_MED_KHR &&
                CL_QUEUE_PRIORITY_LOW_KHR == CL_QUEUE_THROTTLE_LOW_KHR);
  return value == CL_QUEUE_PRIORITY_HIGH_KHR || value == CL_QUEUE_PRIORITY_MED_KHR ||
         value == CL_QUEUE_PRIORITY_LOW_KHR;
}

}  // namespace

Result<CreateQueue> create_queue(cl_context context, cl_device_id device,
                                 cl_command_queue_properties properties) {
  TUTTI_ASSIGN(CreateQueue call, context_with_device(context, device));
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  if ((properties & ~kHostBits) != 0) return fail(CL_INVALID_VALUE, "unknown queue properties");
  call.properties = properties;
  return call;
}

Result<CreateQueue> create_queue_with_properties(cl_context context, cl_device_id device,
                                                 const cl_queue_properties* properties) {
  TUTTI_ASSIGN(CreateQueue call, context_with_device(context, device));
  if (properties == nullptr) return call;
  const device_virtual::Capabilities& caps = call.device->capabilities();
  bool sized = false, hinted = false;
  cl_queue_properties size = 0;
  for (const cl_queue_properties* at = properties; *at != 0; at += 2) {
    // "CL_INVALID_VALUE if values specified in properties are not valid."
    if (at[0] == CL_QUEUE_PROPERTIES) {
      call.properties = at[1];
      if ((call.properties & ~(kHostBits | kDeviceBits)) != 0) {
        return fail(CL_INVALID_VALUE, "unknown queue properties");
      }
    } else if (at[0] == CL_QUEUE_SIZE) {
      sized = true;
      size = at[1];
    } else if ((at[0] == CL_QUEUE_PRIORITY_KHR && caps.priority_hints) ||
               (at[0] == CL_QUEUE_THROTTLE_KHR && caps.throttle_hints)) {
      hinted = true;
      if (!is_hint(at[1])) return fail(CL_INVALID_VALUE, "there is no such hint");
      (at[0] == CL_QUEUE_PRIORITY_KHR ? call.hints.priority : call.hints.throttle) =
          static_cast<cl_uint>(at[1]);
    } else {
      return fail(CL_INVALID_VALUE, "unknown name in the list of queue properties");
    }
    call.property_list.insert(call.property_list.end(), {at[0], at[1]});
  }
  call.property_list.push_back(0);
  const bool on_device = (call.properties & CL_QUEUE_ON_DEVICE) != 0;
  // "If CL_QUEUE_ON_DEVICE is set then CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE must also be set";
  // "CL_QUEUE_ON_DEVICE_DEFAULT … can only be used with CL_QUEUE_ON_DEVICE"; "CL_QUEUE_SIZE … can
  // only be specified if CL_QUEUE_ON_DEVICE is set".
  if ((on_device && (call.properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0) ||
      (!on_device && ((call.properties & CL_QUEUE_ON_DEVICE_DEFAULT) != 0 || sized))) {
    return fail(CL_INVALID_VALUE, "these queue properties do not go together");
  }
  // "CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported
  // by the device"; with hints, "and the queue is a CL_QUEUE_ON_DEVICE".
  if (!on_device) return call;
  const auto& queues = caps.device_queues;
  const cl_command_queue_properties known = queues.properties | kDeviceBits;
  if (queues.max_size == 0 || (call.properties & ~known) != 0 || hinted) {
    return fail(CL_INVALID_QUEUE_PROPERTIES, "no such queues on the device");
  }
  // "CL_QUEUE_SIZE … must be a value <= CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE. … If CL_QUEUE_SIZE is
  // not specified, the device queue is created with CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE as the
  // size of the queue."
  if (sized && (size == 0 || size > queues.max_size)) {
    return fail(CL_INVALID_QUEUE_PROPERTIES, "no such size of a queue on the device");
  }
  call.size_on_device = sized ? static_cast<cl_uint>(size) : queues.preferred_size;
  return call;
}

Result<device_virtual::CommandQueue*> set_queue_property(cl_command_queue queue_handle,
                                                         cl_command_queue_properties properties) {
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue."
  TUTTI_ASSIGN(auto* const found, queue(queue_handle));
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  if ((properties & ~kHostBits) != 0) return fail(CL_INVALID_VALUE, "unknown queue properties");
  return found;
}

Result<DefaultQueue> set_default_device_queue(cl_context context, cl_device_id device,
                                              cl_command_queue queue_handle) {
  TUTTI_ASSIGN(const CreateQueue in, context_with_device(context, device));
  // "CL_INVALID_OPERATION if device does not support a replaceable default on-device queue."
  if (!in.device->capabilities().device_queues.replaceable) {
    return fail(CL_INVALID_OPERATION, "no on-device queues");
  }
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for device."
  TUTTI_ASSIGN(auto* const found, any_queue(queue_handle));
  if (!found->on_device() || &found->context() != in.context || &found->device() != in.device) {
    return fail(CL_INVALID_COMMAND_QUEUE, "not a queue on this device");
  }
  return DefaultQueue{in.context, in.device, found};
}

}  // namespace tutti::icd::validate
