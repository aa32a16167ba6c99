// SPDX-License-Identifier: Apache-2.0
// Checks of cl_khr_semaphore and cl_khr_external_semaphore. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "device_virtual/semaphore.h"
#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

Result<device_virtual::Semaphore*> semaphore(cl_semaphore_khr handle);  // CL_INVALID_SEMAPHORE_KHR

struct CreateSemaphore {
  device_virtual::Context* context = nullptr;
  device_virtual::Semaphore::Options options;
};
Result<CreateSemaphore> create_semaphore(cl_context context,
                                         const cl_semaphore_properties_khr* properties);

/// Of a wait or a signal.
struct OnSemaphores {
  device_virtual::CommandQueue* queue = nullptr;
  std::vector<Ref<device_virtual::Semaphore>> semaphores;
};
Result<OnSemaphores> on_semaphores(cl_command_queue queue, cl_uint count,
                                   const cl_semaphore_khr* semaphores, RawWaitList waits,
                                   WaitList& list);

Result<device_virtual::Semaphore*> exported_semaphore(cl_semaphore_khr handle, cl_device_id device);

}  // namespace tutti::icd::validate
