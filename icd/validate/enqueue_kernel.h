// SPDX-License-Identifier: Apache-2.0
// Checks of clEnqueueNDRangeKernel and clEnqueueTask, in the specification's order. Nothing here
// allocates unless a wait list is long. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/kernel.h"
#include "icd/validate/common.h"
#include "scheduler/command/work.h"

namespace tutti::icd::validate {

/// The sizes as given to clEnqueueNDRangeKernel.
struct NDRange {
  cl_uint dims = 1;
  const size_t* offset = nullptr;
  const size_t* global = nullptr;
  const size_t* local = nullptr;
};

inline constexpr cl_uint kMaxDimensions = 3;  // CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS

/// What the sizes are measured against.
struct NDRangeLimits {
  uint32_t address_bits = 64;
  std::array<size_t, 3> max_work_item_sizes{};
  std::array<uint32_t, 3> required_local{};  // 0,0,0: none required
  bool smaller_groups = false;               // the last work-groups may be smaller than the others
};

struct NDRangeShape {
  scheduler::LaunchShape shape;  // a zero in `global`: nothing to compute; checked: in global[0]
  bool local_given = false;      // by the application or by the kernel's source
};

/// Into a new `result`, with the work-group size that the kernel's source requires, should the
/// application give none.
/// CL_INVALID_WORK_DIMENSION; nothing else is checked.
inline Status as_given(const NDRange& range, std::span<const uint32_t, 3> required_local,
                       NDRangeShape& result) {
  // "CL_INVALID_WORK_DIMENSION if work_dim is not valid for the device."
  if (range.dims == 0 || range.dims > kMaxDimensions) {
    return fail(CL_INVALID_WORK_DIMENSION, "work_dim is not 1, 2 or 3");
  }
  scheduler::LaunchShape& shape = result.shape;
  shape.dims = range.dims;
  // Other dimensions have one work-item.
  for (uint32_t d = 0; d < range.dims; ++d) {
    if (range.offset != nullptr) shape.offset[d] = range.offset[d];
    shape.global[d] = range.global != nullptr ? range.global[d] : 0;
    if (range.local != nullptr) shape.local[d] = range.local[d];
  }
  result.local_given = range.local != nullptr;
  if (range.local == nullptr && required_local[0] != 0) {
    // "The work-group size to be used for kernel can also be specified in the program source".
    std::copy(required_local.begin(), required_local.end(), shape.local.begin());
    result.local_given = true;
  }
  return {};
}
/// All that can be said without asking the kernel. CL_INVALID_WORK_DIMENSION,
/// CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_GROUP_SIZE,
/// CL_INVALID_WORK_ITEM_SIZE.
Result<NDRangeShape> nd_range(const NDRange& range, const NDRangeLimits& limits);

struct GivenLaunch {
  device_virtual::CommandQueue* queue = nullptr;
  device_virtual::Kernel* kernel = nullptr;
  NDRangeShape range;
};
/// A launch found valid.
struct KernelLaunch : GivenLaunch {
  std::shared_ptr<const scheduler::ArgumentSet> arguments;
  bool complete = true;  // all arguments have been set
};
/// Everything; fills `launch` and `wait_list`. With `may_lack` arguments need not have been set.
Status kernel_launch(cl_command_queue queue, cl_kernel kernel, const NDRange& range,
                     cl_uint num_events, const cl_event* events, KernelLaunch& launch,
                     WaitList& wait_list, bool may_lack = false);
/// Whether the launch may be one that repeats another, which was found valid. Fills `launch`, and
/// `named` with its wait list.
inline bool may_repeat(cl_command_queue queue, cl_kernel kernel, const NDRange& range,
                       cl_uint num_events, const cl_event* events, GivenLaunch& launch,
                       WaitList& named) {
  launch.queue = device_virtual::from_handle<device_virtual::CommandQueue>(queue);
  launch.kernel = device_virtual::from_handle<device_virtual::Kernel>(kernel);
  if (launch.queue == nullptr || launch.kernel == nullptr) return false;
  if ((num_events != 0 || events != nullptr) &&
      !wait_list(launch.queue->context(), num_events, events, named)) {
    return false;
  }
  return as_given(range, launch.kernel->summary().reqd_local, launch.range).has_value();
}
/// clGetKernelSuggestedLocalWorkSizeKHR; fills `launch`.
Status suggested_local_size(cl_command_queue queue, cl_kernel kernel, const NDRange& range,
                            const size_t* suggested, KernelLaunch& launch);

}  // namespace tutti::icd::validate
