// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/enqueue_kernel.h"

#include <cstdint>

#include "icd/validate/kernel.h"

namespace tutti::icd::validate {

using device_virtual::CommandQueue;
using device_virtual::Kernel;

namespace {

Status local_sizes(const NDRange& range, const NDRangeLimits& limits,
                   const scheduler::LaunchShape& shape) {
  const auto& required = limits.required_local;
  for (uint32_t d = 0; d < kMaxDimensions; ++d) {
    // Without non-uniform work-groups: "the values specified in global_work_size … must be evenly
    // divisible by the corresponding values specified in local_work_size";
    // "CL_INVALID_WORK_GROUP_SIZE … if the total number of work-items in the work-group is zero".
    if (shape.local[d] == 0) return fail(CL_INVALID_WORK_GROUP_SIZE, "an empty work-group");
    const bool smaller = limits.smaller_groups && d < range.dims;
    if (!smaller && shape.global[d] % shape.local[d] != 0) {
      return fail(CL_INVALID_WORK_GROUP_SIZE, "the local size does not divide the global size");
    }
  }
  // "CL_INVALID_WORK_GROUP_SIZE … if the local_work_size does not match the required work-group
  // size for kernel."
  for (uint32_t d = 0; range.local != nullptr && required[0] != 0 && d < kMaxDimensions; ++d) {
    if (shape.local[d] != required[d]) {
      return fail(CL_INVALID_WORK_GROUP_SIZE, "not the work-group size that the source requires");
    }
  }
  return {};
}

}  // namespace

Result<NDRangeShape> nd_range(const NDRange& range, const NDRangeLimits& limits) {
  NDRangeShape result;
  TUTTI_TRY(as_given(range, limits.required_local, result));
  scheduler::LaunchShape& shape = result.shape;
  const uint64_t largest = limits.address_bits >= 64 ? UINT64_MAX : 0xffff'ffffu;
  for (uint32_t d = 0; d < range.dims; ++d) {
    // "CL_INVALID_GLOBAL_OFFSET if the value specified in global_work_size plus the corresponding
    // value in global_work_offset for any dimensions is greater than the maximum value
    // representable by size_t on the device." (A global size that alone is greater is the next
    // error.)
    if (shape.global[d] <= largest && shape.offset[d] > largest - shape.global[d]) {
      return fail(CL_INVALID_GLOBAL_OFFSET, "global size and offset pass the address range");
    }
  }
  for (uint32_t d = 0; d < range.dims; ++d) {
    // "CL_INVALID_GLOBAL_WORK_SIZE if any of the values specified in global_work_size … exceed the
    // maximum value representable by size_t on the device."
    if (shape.global[d] > largest) {
      return fail(CL_INVALID_GLOBAL_WORK_SIZE, "the global size passes the address range");
    }
  }
  TUTTI_TRY(local_sizes(range, limits, shape));
  // "CL_INVALID_WORK_ITEM_SIZE if the number of work-items specified in any dimension of
  // local_work_size is … greater than the corresponding value … CL_DEVICE_MAX_WORK_ITEM_SIZES."
  for (uint32_t d = 0; result.local_given && d < range.dims; ++d) {
    if (shape.local[d] > limits.max_work_item_sizes[d]) {
      return fail(CL_INVALID_WORK_ITEM_SIZE, "more work-items than a group of the device has");
    }
  }
  // "If … global_work_size is NULL or the value in any passed dimension is zero, then the kernel
  // command will trivially succeed": allowed since OpenCL 2.1.
  if (shape.global[1] == 0 || shape.global[2] == 0) shape.global[0] = 0;
  return result;
}

Status kernel_launch(cl_command_queue queue_handle, cl_kernel kernel_handle, const NDRange& range,
                     cl_uint num_events, const cl_event* events, KernelLaunch& launch,
                     WaitList& wait_list, bool may_lack) {
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN(launch.queue, validate::queue(queue_handle));
  TUTTI_ASSIGN(launch.kernel, validate::kernel(kernel_handle));
  Kernel& kernel = *launch.kernel;
  // "CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built program executable available":
  // a kernel keeps the one that it was made from, perhaps not for this queue's device.
  if ((kernel.executable().built_on() & kernel.context().backends_of(launch.queue->device())) ==
      0) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built for the queue's device");
  }
  // "CL_INVALID_CONTEXT if the context associated with command_queue and kernel are not the same."
  if (&launch.queue->context() != &kernel.context()) {
    return fail(CL_INVALID_CONTEXT, "queue and kernel are of different contexts");
  }
  // "CL_INVALID_KERNEL_ARGS if any kernel arguments for kernel have not been set."
  auto arguments = kernel.arguments();
  launch.complete = arguments.complete;
  if (!launch.complete && !may_lack) {
    return fail(CL_INVALID_KERNEL_ARGS, "an argument has not been set");
  }

  const device_virtual::Capabilities& capabilities = launch.queue->device().capabilities();
  NDRangeLimits limits;
  limits.address_bits = capabilities.address_bits;
  limits.max_work_item_sizes = capabilities.max_work_item_sizes;
  limits.smaller_groups = capabilities.smaller_groups && kernel.summary().smaller_groups;
  for (uint32_t d = 0; d < 3; ++d) limits.required_local[d] = kernel.summary().reqd_local[d];
  TUTTI_ASSIGN(launch.range, nd_range(range, limits));
  if (launch.range.local_given) {
    // "CL_INVALID_WORK_GROUP_SIZE … if the total number of work-items in the work-group is greater
    // than the maximum work-group size supported for kernel on the device
    // (CL_KERNEL_WORK_GROUP_SIZE)."
    uint64_t total = 1;
    bool too_many = false;
    for (const uint64_t size : launch.range.shape.local) {
      too_many |= __builtin_mul_overflow(total, size, &total);
    }
    TUTTI_ASSIGN(const bool taken, kernel.executable().takes_group(too_many ? UINT64_MAX : total));
    if (!taken) {
      return fail(CL_INVALID_WORK_GROUP_SIZE, "more work-items than the kernel allows");
    }
  }
  // CL_MISALIGNED_SUB_BUFFER_OFFSET cannot occur: clCreateSubBuffer checks the origin against all
  // devices of the context. "CL_OUT_OF_RESOURCES … because of insufficient resources such as
  // registers or local memory."
  if (arguments.local_bytes > capabilities.local_memory) {
    return fail(CL_OUT_OF_RESOURCES, "more local memory than the device has");
  }
  TUTTI_TRY(validate::wait_list(kernel.context(), num_events, events, wait_list));
  launch.arguments = std::move(arguments.set);
  return {};
}

Status suggested_local_size(cl_command_queue queue_handle, cl_kernel kernel_handle,
                            const NDRange& range, const size_t* suggested, KernelLaunch& launch) {
  WaitList none;
  TUTTI_TRY(kernel_launch(queue_handle, kernel_handle, range, 0, nullptr, launch, none));
  // "CL_INVALID_GLOBAL_WORK_SIZE if global_work_size is NULL or if any of the values specified in
  // global_work_size are 0."
  const auto& global = launch.range.shape.global;
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) {
    return fail(CL_INVALID_GLOBAL_WORK_SIZE, "the global size is NULL or has a zero");
  }
  // "CL_INVALID_VALUE if suggested_local_work_size is NULL."
  if (suggested == nullptr) return fail(CL_INVALID_VALUE, "nothing is asked for");
  return {};
}

}  // namespace tutti::icd::validate
