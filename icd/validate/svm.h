// SPDX-License-Identifier: Apache-2.0
// Checks of the entry points on shared virtual memory, in the specification's order. Pure
// functions, thread-safe.
#pragma once

#include <optional>

#include "backends/api/buffer_address_api.h"
#include "device_virtual/kernel.h"
#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

using SharedPlace = device_virtual::SharedAllocations::Place;

/// Whether shared virtual memory is asked for, or unified memory (cl_intel_unified_shared_memory),
/// of which the commands are alike.
enum class Shared : uint8_t { kVirtual, kUnified };

/// clSVMAlloc: CL_INVALID_VALUE and the like, which the application does not see.
Result<device_virtual::Context*> svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                           cl_uint alignment);

/// The queue, and that its device has such memory.
Result<device_virtual::CommandQueue*> svm_queue(cl_command_queue queue, Shared shared);
Result<device_virtual::CommandQueue*> svm_free(cl_command_queue queue, cl_uint count,
                                               void* const* pointers, RawWaitList waits,
                                               WaitList& list);
Result<device_virtual::CommandQueue*> svm_memcpy(cl_command_queue queue, const void* to,
                                                 const void* from, size_t size, RawWaitList waits,
                                                 WaitList& list, Shared shared = Shared::kVirtual);

/// A command on a range of shared memory.
struct OnShared {
  device_virtual::CommandQueue* queue = nullptr;
  SharedPlace place;
};
Result<OnShared> svm_fill(cl_command_queue queue, const void* pointer, const void* pattern,
                          size_t pattern_size, size_t size, RawWaitList waits, WaitList& list,
                          Shared shared = Shared::kVirtual);
Result<OnShared> svm_map(cl_command_queue queue, cl_map_flags flags, const void* pointer,
                         size_t size, RawWaitList waits, WaitList& list);
Result<OnShared> svm_unmap(cl_command_queue queue, const void* pointer, RawWaitList waits,
                           WaitList& list);
Result<device_virtual::CommandQueue*> svm_migrate(cl_command_queue queue, cl_uint count,
                                                  const void* const* pointers, const size_t* sizes,
                                                  cl_mem_migration_flags flags, RawWaitList waits,
                                                  WaitList& list);

/// clSetKernelArgSVMPointer, clSetKernelArgMemPointerINTEL.
struct ArgumentPointer {
  device_virtual::Kernel* kernel = nullptr;
  std::optional<SharedPlace> place;  // absent: the NULL pointer
};
Result<ArgumentPointer> argument_pointer(cl_kernel kernel, cl_uint index, const void* value,
                                         Shared shared = Shared::kVirtual);

/// clSetKernelArgDevicePointerEXT.
Result<ArgumentPointer> argument_address(cl_kernel kernel, cl_uint index,
                                         backends::DeviceAddress value);

}  // namespace tutti::icd::validate
