// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/context.h"

#include <algorithm>

#include "icd/validate/gl_sharing.h"
#include "icd/validate/platform.h"
#include "platform/composition.h"

namespace tutti::icd::validate {

Result<std::vector<cl_context_properties>> context_properties(
    const cl_context_properties* properties) {
  std::vector<cl_context_properties> list;
  if (properties == nullptr) return list;
  for (const cl_context_properties* at = properties; *at != 0; at += 2) {
    // "CL_INVALID_PROPERTY if context property name in properties is not a supported property name,
    // if the value specified for a supported property name is not valid, or if the same property
    // name is specified more than once."
    for (size_t i = 0; i < list.size(); i += 2) {
      if (list[i] == at[0]) return fail(CL_INVALID_PROPERTY, "a property is given twice");
    }
    switch (at[0]) {
      case CL_CONTEXT_PLATFORM:
        // "CL_INVALID_PLATFORM … if platform value specified in properties is not a valid
        // platform."
        TUTTI_TRY(platform(reinterpret_cast<cl_platform_id>(at[1])));
        break;
      case CL_CONTEXT_INTEROP_USER_SYNC:
        if (at[1] != CL_TRUE && at[1] != CL_FALSE) {
          return fail(CL_INVALID_PROPERTY, "CL_CONTEXT_INTEROP_USER_SYNC is a cl_bool");
        }
        break;
      default:
        if (is_gl_property(at[0]) && shares_gl()) break;
        return fail(CL_INVALID_PROPERTY, "unsupported context property");
    }
    list.insert(list.end(), {at[0], at[1]});
  }
  list.push_back(0);
  return list;
}

Result<CreateContext> create_context(const cl_context_properties* properties, cl_uint num_devices,
                                     const cl_device_id* devices, const void* notify,
                                     const void* user_data) {
  CreateContext call;
  TUTTI_ASSIGN(call.properties, context_properties(properties));
  // "CL_INVALID_VALUE if devices is NULL." "CL_INVALID_VALUE if num_devices is equal to zero."
  if (devices == nullptr || num_devices == 0) return fail(CL_INVALID_VALUE, "no devices");
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  if (notify == nullptr && user_data != nullptr) {
    return fail(CL_INVALID_VALUE, "user_data without pfn_notify");
  }
  // "CL_INVALID_DEVICE if any device in devices is not a valid device."
  for (cl_uint i = 0; i < num_devices; ++i) {
    TUTTI_ASSIGN(auto* const found, device(devices[i]));
    // "Duplicate devices specified in devices are ignored."
    const Ref<device_virtual::Device> one(found);
    if (std::find(call.devices.begin(), call.devices.end(), one) == call.devices.end()) {
      call.devices.push_back(one);
    }
  }
  TUTTI_ASSIGN(call.gl, gl_properties(call.properties, call.devices));
  return call;
}

Result<CreateContext> create_context_from_type(const cl_context_properties* properties,
                                               cl_device_type type, const void* notify,
                                               const void* user_data) {
  CreateContext call;
  TUTTI_ASSIGN(call.properties, context_properties(properties));
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  if (notify == nullptr && user_data != nullptr) {
    return fail(CL_INVALID_VALUE, "user_data without pfn_notify");
  }
  TUTTI_TRY(device_type(type));
  const platform::Composition* all = platform::composition();
  // "CL_INVALID_PLATFORM if properties is NULL and no platform could be selected".
  if (all == nullptr) return fail(CL_INVALID_PLATFORM, "there is no platform");
  // "CL_DEVICE_NOT_FOUND if no devices that match device_type and property values … were found."
  if (!all->device->matches(type)) return fail(CL_DEVICE_NOT_FOUND, "no device of this type");
  call.devices.emplace_back(all->device);
  TUTTI_ASSIGN(call.gl, gl_properties(call.properties, call.devices));
  return call;
}

Result<device_virtual::Context*> set_context_destructor(cl_context context_handle,
                                                        const void* notify) {
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(auto* const found, context(context_handle));
  // "CL_INVALID_VALUE if pfn_notify is NULL."
  if (notify == nullptr) return fail(CL_INVALID_VALUE, "pfn_notify is NULL");
  return found;
}

}  // namespace tutti::icd::validate
