// SPDX-License-Identifier: Apache-2.0
// Checks of the properties of buffers and images: addresses, and memory of other interfaces
// (cl_khr_external_memory). Pure functions, thread-safe.
#pragma once

#include <vector>

#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

/// Fill in what of `options` the properties say: CL_INVALID_PROPERTY, CL_INVALID_DEVICE,
/// CL_INVALID_OPERATION. Of clCreateBufferWithProperties; of clCreateImageWithProperties.
Status take_buffer_properties(const device_virtual::Context& context,
                              const cl_mem_properties* properties,
                              device_virtual::Buffer::Options& options);
Status take_image_properties(const device_virtual::Context& context,
                             const cl_mem_properties* properties,
                             device_virtual::Buffer::Options& options);
/// What memory of another interface demands beside them; nothing of other memory.
Status check_external(const device_virtual::Buffer::Options& options, cl_mem_flags flags,
                      const void* host_ptr);

struct HandOver {
  device_virtual::CommandQueue* queue = nullptr;
  std::vector<device_virtual::Buffer*> memory;
};
/// Of clEnqueueAcquireExternalMemObjectsKHR and clEnqueueReleaseExternalMemObjectsKHR, and of
/// clEnqueueAcquireGLObjects and clEnqueueReleaseGLObjects.
Result<HandOver> hand_over(const char* entry_point, backends::ExternalKind kind,
                           cl_command_queue queue, cl_uint count, const cl_mem* memory,
                           RawWaitList waits, WaitList& list);

}  // namespace tutti::icd::validate
