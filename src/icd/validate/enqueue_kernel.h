// SPDX-License-Identifier: Apache-2.0
// Checks of clEnqueueNDRangeKernel and clEnqueueTask, in the specification's order. Nothing here
// allocates unless a wait list is long. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <memory>
#include <span>

#include "device_virtual/command_queue.h"
#include "device_virtual/kernel.h"
#include "icd/validate/common.h"
#include "platform/result.h"
#include "scheduler/exec/work.h"

namespace tutti::icd::validate {

/// The sizes as given to clEnqueueNDRangeKernel.
struct NDRange {
  cl_uint dims = 1;
  const size_t* offset = nullptr;
  const size_t* global = nullptr;
  const size_t* local = nullptr;
};

/// What the sizes are measured against.
struct NDRangeLimits {
  uint32_t address_bits = 64;
  std::array<size_t, 3> max_work_item_sizes{};
  std::array<uint32_t, 3> required_local{};  // 0,0,0: none required
};

struct NDRangeShape {
  scheduler::LaunchShape shape;  // a zero in `global`: nothing to compute; checked: in global[0]
  bool local_given = false;      // by the application or by the kernel's source
};

/// Into a new `result`, with the work-group size that the kernel's source requires, should the
/// application give none.
/// CL_INVALID_WORK_DIMENSION; nothing else is checked.
Status as_given(const NDRange& range, std::span<const uint32_t, 3> required_local,
                NDRangeShape& result);
/// All that can be said without asking the kernel. CL_INVALID_WORK_DIMENSION,
/// CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_GROUP_SIZE,
/// CL_INVALID_WORK_ITEM_SIZE.
Result<NDRangeShape> nd_range(const NDRange& range, const NDRangeLimits& limits);

/// A launch found valid.
struct KernelLaunch {
  device_virtual::CommandQueue* queue = nullptr;
  device_virtual::Kernel* kernel = nullptr;
  std::shared_ptr<const scheduler::ArgumentSet> arguments;
  NDRangeShape range;
};
/// Everything; fills `launch` and `wait_list`.
Status kernel_launch(cl_command_queue queue, cl_kernel kernel, const NDRange& range,
                     cl_uint num_events, const cl_event* events, KernelLaunch& launch,
                     WaitList& wait_list);
/// Whether the launch may be one that repeats another, which was found valid: it has no events.
/// Fills `launch` but for the arguments.
bool may_repeat(cl_command_queue queue, cl_kernel kernel, const NDRange& range, cl_uint num_events,
                const cl_event* events, const cl_event* event, KernelLaunch& launch);
/// clGetKernelSuggestedLocalWorkSizeKHR; fills `launch`.
Status suggested_local_size(cl_command_queue queue, cl_kernel kernel, const NDRange& range,
                            const size_t* suggested, KernelLaunch& launch);

}  // namespace tutti::icd::validate
