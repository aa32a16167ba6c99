// SPDX-License-Identifier: Apache-2.0
// Checks of the context's entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

struct CreateContext {
  std::vector<Ref<device_virtual::Device>> devices;  // none twice
  std::vector<cl_context_properties> properties;     // with the closing 0; empty if NULL
  backends::ContextProperties gl;  // what a vendor's has to share with OpenGL; empty: it does not
};
/// CL_INVALID_PROPERTY, CL_INVALID_PLATFORM.
Result<std::vector<cl_context_properties>> context_properties(
    const cl_context_properties* properties);
Result<CreateContext> create_context(const cl_context_properties* properties, cl_uint num_devices,
                                     const cl_device_id* devices, const void* notify,
                                     const void* user_data);
Result<CreateContext> create_context_from_type(const cl_context_properties* properties,
                                               cl_device_type type, const void* notify,
                                               const void* user_data);
Result<device_virtual::Context*> set_context_destructor(cl_context context, const void* notify);

}  // namespace tutti::icd::validate
