// SPDX-License-Identifier: Apache-2.0
// Entry points of shared virtual memory, but those on kernels.
#include "icd/validate/svm.h"

#include <vector>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/entry/works.h"

namespace tutti::icd {

using validate::WaitList;

void* CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                             unsigned int alignment) {
  // "Otherwise, like malloc, it returns a NULL pointer value."
  return entry_object("clSVMAlloc", nullptr, [&]() -> Result<void*> {
    TUTTI_ASSIGN(auto* const owner, validate::svm_alloc(context, flags, size, alignment));
    return owner->allocate_shared({.size = size, .alignment = alignment, .flags = flags}, {});
  });
}

void CL_API_CALL clSVMFree(cl_context context, void* svm_pointer) {
  entry("clSVMFree", [&]() -> Status {
    TUTTI_ASSIGN(auto* const owner, validate::context(context));
    // "If svm_pointer is NULL, … no action occurs". "clSVMFree does not wait for previously
    // enqueued commands that may be using svm_pointer to finish": they keep the memory.
    if (svm_pointer != nullptr && !owner->shared_memory().free(svm_pointer, false)) {
      return fail(CL_INVALID_VALUE, "not allocated by clSVMAlloc, or freed already");
    }
    return {};
  });
}

cl_int CL_API_CALL clEnqueueSVMFree(
    cl_command_queue command_queue, cl_uint num_svm_pointers, void* svm_pointers[],
    void(CL_CALLBACK* pfn_free_func)(cl_command_queue, cl_uint, void**, void*), void* user_data,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSVMFree", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::svm_free(command_queue, num_svm_pointers, svm_pointers,
                                    {num_events_in_wait_list, event_wait_list}, list));
    return queue->free_shared(std::vector<void*>(svm_pointers, svm_pointers + num_svm_pointers),
                              pfn_free_func, user_data,
                              submission(CL_COMMAND_SVM_FREE, list, event));
  });
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue command_queue, cl_bool blocking_copy,
                                      void* dst_ptr, const void* src_ptr, size_t size,
                                      cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSVMMemcpy", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::svm_memcpy(command_queue, dst_ptr, src_ptr, size,
                                      {num_events_in_wait_list, event_wait_list}, list));
    return queue->copy_shared(
        dst_ptr, src_ptr, size,
        submission(CL_COMMAND_SVM_MEMCPY, list, event, blocking_copy != CL_FALSE));
  });
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue command_queue, void* svm_ptr,
                                       const void* pattern, size_t pattern_size, size_t size,
                                       cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSVMMemFill", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::svm_fill(command_queue, svm_ptr, pattern, pattern_size, size,
                                    {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->enqueue(svm_fill_work(on, pattern, pattern_size, size),
                             submission(CL_COMMAND_SVM_MEMFILL, list, event));
  });
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue command_queue, cl_bool blocking_map,
                                   cl_map_flags flags, void* svm_ptr, size_t size,
                                   cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                   cl_event* event) {
  return entry("clEnqueueSVMMap", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::svm_map(command_queue, flags, svm_ptr, size,
                                   {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->map_shared(
        on.place, size, flags,
        submission(CL_COMMAND_SVM_MAP, list, event, blocking_map != CL_FALSE));
  });
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue command_queue, void* svm_ptr,
                                     cl_uint num_events_in_wait_list,
                                     const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSVMUnmap", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::svm_unmap(command_queue, svm_ptr,
                                     {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->unmap_shared(on.place, submission(CL_COMMAND_SVM_UNMAP, list, event));
  });
}

// A hint, as clEnqueueMigrateMemObjects is.
cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue command_queue, cl_uint num_svm_pointers,
                                          const void** svm_pointers, const size_t* sizes,
                                          cl_mem_migration_flags flags,
                                          cl_uint num_events_in_wait_list,
                                          const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSVMMigrateMem", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::svm_migrate(command_queue, num_svm_pointers, svm_pointers, sizes, flags,
                                       {num_events_in_wait_list, event_wait_list}, list));
    return queue->enqueue(scheduler::no_work(),
                          submission(CL_COMMAND_SVM_MIGRATE_MEM, list, event));
  });
}

}  // namespace tutti::icd
