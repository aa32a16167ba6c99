// SPDX-License-Identifier: Apache-2.0
// Entry points of cl_intel_unified_shared_memory: allocations of other kinds than clSVMAlloc's, and
// the same commands on them.
#include "icd/validate/unified_memory.h"

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/entry/works.h"

namespace tutti::icd {
namespace {

using backends::SharedKind;
using device_virtual::InfoAnswer;
using validate::Shared;
using validate::WaitList;

void* allocate(const char* name, SharedKind kind, cl_context context, cl_device_id device,
               const cl_mem_properties_intel* properties, size_t size, cl_uint alignment,
               cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<void*> {
    TUTTI_ASSIGN(const auto call,
                 validate::unified_allocation(kind, context, device, properties, size, alignment));
    return call.context->allocate_shared(call.request, call.origin);
  });
}

Status free_memory(device_virtual::Context& context, const void* pointer) {
  // "If ptr is NULL then no action occurs." What uses it keeps it.
  if (pointer != nullptr && !context.shared_memory().free(pointer, true)) {
    return fail(CL_INVALID_VALUE, "not allocated as unified shared memory, or freed already");
  }
  return {};
}

}  // namespace

void* CL_API_CALL clHostMemAllocINTEL(cl_context context, const cl_mem_properties_intel* properties,
                                      size_t size, cl_uint alignment, cl_int* errcode_ret) {
  return allocate("clHostMemAllocINTEL", SharedKind::kHost, context, nullptr, properties, size,
                  alignment, errcode_ret);
}

void* CL_API_CALL clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_mem_properties_intel* properties, size_t size,
                                        cl_uint alignment, cl_int* errcode_ret) {
  return allocate("clDeviceMemAllocINTEL", SharedKind::kDevice, context, device, properties, size,
                  alignment, errcode_ret);
}

void* CL_API_CALL clSharedMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_mem_properties_intel* properties, size_t size,
                                        cl_uint alignment, cl_int* errcode_ret) {
  return allocate("clSharedMemAllocINTEL", SharedKind::kShared, context, device, properties, size,
                  alignment, errcode_ret);
}

cl_int CL_API_CALL clMemFreeINTEL(cl_context context, void* ptr) {
  return entry("clMemFreeINTEL", [&]() -> Status {
    TUTTI_ASSIGN(auto* const owner, validate::context(context));
    return free_memory(*owner, ptr);
  });
}

cl_int CL_API_CALL clMemBlockingFreeINTEL(cl_context context, void* ptr) {
  return entry("clMemBlockingFreeINTEL", [&]() -> Status {
    TUTTI_ASSIGN(auto* const owner, validate::context(context));
    if (ptr != nullptr) owner->finish_queues();
    return free_memory(*owner, ptr);
  });
}

cl_int CL_API_CALL clGetMemAllocInfoINTEL(cl_context context, const void* ptr,
                                          cl_mem_info_intel param_name, size_t param_value_size,
                                          void* param_value, size_t* param_value_size_ret) {
  return entry("clGetMemAllocInfoINTEL", [&]() -> Status {
    TUTTI_ASSIGN(auto* const owner, validate::context(context));
    return device_virtual::unified_memory_info(
        owner->shared_memory().find(ptr), param_name,
        InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clSetKernelArgMemPointerINTEL(cl_kernel kernel, cl_uint arg_index,
                                                 const void* arg_value) {
  return entry("clSetKernelArgMemPointerINTEL", [&]() -> Status {
    TUTTI_ASSIGN(const auto call,
                 validate::argument_pointer(kernel, arg_index, arg_value, Shared::kUnified));
    set_pointer(call, arg_index);
    return {};
  });
}

cl_int CL_API_CALL clEnqueueMemFillINTEL(cl_command_queue command_queue, void* dst_ptr,
                                         const void* pattern, size_t pattern_size, size_t size,
                                         cl_uint num_events_in_wait_list,
                                         const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMemFillINTEL", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on, validate::svm_fill(command_queue, dst_ptr, pattern, pattern_size,
                                                   size, {num_events_in_wait_list, event_wait_list},
                                                   list, Shared::kUnified));
    return on.queue->enqueue(svm_fill_work(on, pattern, pattern_size, size),
                             submission(CL_COMMAND_MEMFILL_INTEL, list, event));
  });
}

cl_int CL_API_CALL clEnqueueMemcpyINTEL(cl_command_queue command_queue, cl_bool blocking,
                                        void* dst_ptr, const void* src_ptr, size_t size,
                                        cl_uint num_events_in_wait_list,
                                        const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMemcpyINTEL", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue, validate::svm_memcpy(command_queue, dst_ptr, src_ptr, size,
                                                         {num_events_in_wait_list, event_wait_list},
                                                         list, Shared::kUnified));
    return queue->copy_shared(
        dst_ptr, src_ptr, size,
        submission(CL_COMMAND_MEMCPY_INTEL, list, event, blocking != CL_FALSE));
  });
}

// Hints, as clEnqueueMigrateMemObjects is.
cl_int CL_API_CALL clEnqueueMigrateMemINTEL(cl_command_queue command_queue, const void* /*ptr*/,
                                            size_t /*size*/, cl_mem_migration_flags flags,
                                            cl_uint num_events_in_wait_list,
                                            const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMigrateMemINTEL", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::unified_hint(command_queue, flags,
                                        {num_events_in_wait_list, event_wait_list}, list));
    return queue->enqueue(scheduler::no_work(),
                          submission(CL_COMMAND_MIGRATEMEM_INTEL, list, event));
  });
}

// "If a memory advice hint is not supported by the device it will be ignored."
cl_int CL_API_CALL clEnqueueMemAdviseINTEL(cl_command_queue command_queue, const void* /*ptr*/,
                                           size_t /*size*/, cl_mem_advice_intel /*advice*/,
                                           cl_uint num_events_in_wait_list,
                                           const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMemAdviseINTEL", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(
        auto* const queue,
        validate::unified_hint(command_queue, 0, {num_events_in_wait_list, event_wait_list}, list));
    return queue->enqueue(scheduler::no_work(),
                          submission(CL_COMMAND_MEMADVISE_INTEL, list, event));
  });
}

}  // namespace tutti::icd
