// SPDX-License-Identifier: Apache-2.0
// Checks of the memory objects' entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

struct CreateBuffer {
  device_virtual::Context* context = nullptr;
  device_virtual::Buffer::Options options;
};
Result<CreateBuffer> create_buffer(cl_context context, const cl_mem_properties* properties,
                                   cl_mem_flags flags, size_t size, void* host_ptr);

struct CreateSubBuffer {
  device_virtual::Buffer* buffer = nullptr;
  cl_mem_flags flags = 0;  // with what it inherits
  size_t origin = 0, size = 0;
};
Result<CreateSubBuffer> create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                          cl_buffer_create_type type, const void* info);
Result<device_virtual::Buffer*> set_memory_destructor(cl_mem memory, const void* notify);
Status get_supported_image_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                                   cl_uint num_entries, const cl_image_format* formats);

}  // namespace tutti::icd::validate
