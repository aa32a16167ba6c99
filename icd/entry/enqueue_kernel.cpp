// SPDX-License-Identifier: Apache-2.0
// Entry points that enqueue kernels.
#include <algorithm>
#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/validate/enqueue_kernel.h"

namespace tutti::icd {
namespace {

cl_int enqueue_kernel(const char* name, cl_command_type type, cl_command_queue queue,
                      cl_kernel kernel, const validate::NDRange& range, cl_uint num_events,
                      const cl_event* events, cl_event* event) {
  return entry(name, [&]() -> Status {
    validate::GivenLaunch given;
    validate::WaitList named;
    if (validate::may_repeat(queue, kernel, range, num_events, events, given, named)) {
      const auto& [shape, local_given] = given.range;
      auto again = given.kernel->launch_again(*given.queue, shape, local_given, named.commands(),
                                              type, event);
      if (again) return *std::move(again);
    }
    validate::KernelLaunch launch;
    validate::WaitList wait_list;
    TUTTI_TRY(validate::kernel_launch(queue, kernel, range, num_events, events, launch, wait_list));
    device_virtual::Submission submission;
    submission.type = type;
    submission.wait_list = wait_list.commands();
    submission.event = event;
    return launch.kernel->enqueue(*launch.queue, std::move(launch.arguments), launch.range.shape,
                                  launch.range.local_given, submission);
  });
}

}  // namespace

// In one function as far as possible, and so on the whole way of a launch that repeats another:
// deep in a vendor's call a processor forgets where it shall return to, and guesses each return
// wrong.
[[gnu::flatten]] cl_int CL_API_CALL clEnqueueNDRangeKernel(
    cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
    const size_t* global_work_offset, const size_t* global_work_size, const size_t* local_work_size,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return enqueue_kernel("clEnqueueNDRangeKernel", CL_COMMAND_NDRANGE_KERNEL, command_queue, kernel,
                        {work_dim, global_work_offset, global_work_size, local_work_size},
                        num_events_in_wait_list, event_wait_list, event);
}

cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR(cl_command_queue command_queue,
                                                        cl_kernel kernel, cl_uint work_dim,
                                                        const size_t* global_work_offset,
                                                        const size_t* global_work_size,
                                                        size_t* suggested_local_work_size) {
  return clGetKernelSuggestedLocalWorkSize(command_queue, kernel, work_dim, global_work_offset,
                                           global_work_size, suggested_local_work_size);
}

cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSize(cl_command_queue command_queue,
                                                     cl_kernel kernel, cl_uint work_dim,
                                                     const size_t* global_work_offset,
                                                     const size_t* global_work_size,
                                                     size_t* suggested_local_work_size) {
  return entry("clGetKernelSuggestedLocalWorkSize", [&]() -> Status {
    validate::KernelLaunch launch;
    TUTTI_TRY(validate::suggested_local_size(
        command_queue, kernel, {work_dim, global_work_offset, global_work_size, nullptr},
        suggested_local_work_size, launch));
    scheduler::LaunchShape shape = launch.range.shape;
    if (!launch.range.local_given) TUTTI_TRY(launch.kernel->suggest_local(shape));
    std::copy_n(shape.local.begin(), work_dim, suggested_local_work_size);
    return {};
  });
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue command_queue, cl_kernel kernel,
                                 cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                 cl_event* event) {
  // "clEnqueueTask is equivalent to calling clEnqueueNDRangeKernel with work_dim set to 1,
  // global_work_offset set to NULL, global_work_size[0] set to 1, and local_work_size[0] set to 1."
  const size_t one = 1;
  return enqueue_kernel("clEnqueueTask", CL_COMMAND_TASK, command_queue, kernel,
                        {1, nullptr, &one, &one}, num_events_in_wait_list, event_wait_list, event);
}

}  // namespace tutti::icd
