// SPDX-License-Identifier: Apache-2.0
// Gives a vendor's platform what it lacks to share objects with other interfaces: cl_khr_semaphore
// and cl_khr_external_semaphore, made of user events. Where it is used in a wrong order, the
// process aborts.
#pragma once

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

namespace tutti::kernel_fuzz {

/// Before Tutti's first use of the platform; once.
void give_sharing(cl_platform_id platform);

namespace sharing {

/// The platform's own functions.
const cl_icd_dispatch& original_of(const void* object);

/// In semaphores.cpp: the function of that name, or null; and what devices say of semaphores.
void* semaphore_function(const char* name);
inline constexpr cl_uint kSemaphoreHandleTypes[] = {CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
                                                    CL_SEMAPHORE_HANDLE_SYNC_FD_KHR};

}  // namespace sharing
}  // namespace tutti::kernel_fuzz
