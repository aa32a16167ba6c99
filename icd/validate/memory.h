// SPDX-License-Identifier: Apache-2.0
// Checks of the memory objects' entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

/// What kernels may do with an object.
inline constexpr cl_mem_flags kKernelAccess =
    CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

/// "CL_INVALID_VALUE if values specified in flags are not valid": unknown bits, and those that the
/// table of cl_mem_flags calls mutually exclusive.
bool valid_flags(cl_mem_flags flags);
/// The complete flags of an object made from a buffer with the flags `parent`; CL_INVALID_VALUE
/// where they contradict each other.
Result<cl_mem_flags> flags_under(cl_mem_flags parent, cl_mem_flags flags);

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

struct CreatePipe {
  device_virtual::Context* context = nullptr;
  device_virtual::Buffer::Options options;
};
Result<CreatePipe> create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_size,
                               cl_uint max_packets, const cl_pipe_properties* properties);

Result<device_virtual::Buffer*> set_memory_destructor(cl_mem memory, const void* notify);

}  // namespace tutti::icd::validate
