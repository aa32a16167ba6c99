// SPDX-License-Identifier: Apache-2.0
// Checks of the entry points of cl_intel_unified_shared_memory that are not those of shared virtual
// memory, in the specification's order. Pure functions, thread-safe.
#pragma once

#include <CL/cl_ext.h>

#include "device_virtual/context.h"
#include "icd/validate/svm.h"

namespace tutti::icd::validate {

/// clHostMemAllocINTEL, clDeviceMemAllocINTEL, clSharedMemAllocINTEL.
struct UnifiedAllocation {
  device_virtual::Context* context = nullptr;
  backends::SharedRequest request;
  device_virtual::SharedOrigin origin;
};
/// `device` is ignored of host memory.
Result<UnifiedAllocation> unified_allocation(backends::SharedKind kind, cl_context context,
                                             cl_device_id device,
                                             const cl_mem_properties_intel* properties, size_t size,
                                             cl_uint alignment);

/// clEnqueueMigrateMemINTEL, clEnqueueMemAdviseINTEL.
Result<device_virtual::CommandQueue*> unified_hint(cl_command_queue queue,
                                                   cl_mem_migration_flags flags, RawWaitList waits,
                                                   WaitList& list);

}  // namespace tutti::icd::validate
