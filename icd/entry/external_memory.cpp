// SPDX-License-Identifier: Apache-2.0
// Entry points of cl_khr_external_memory, but those that make memory objects.
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/validate/memory_properties.h"

namespace tutti::icd {
namespace {

cl_int hand_over(const char* name, backends::HandOver what, cl_command_type type,
                 cl_command_queue queue, cl_uint count, const cl_mem* memory,
                 validate::RawWaitList waits, cl_event* event) {
  return entry(name, [&]() -> Status {
    validate::WaitList list;
    TUTTI_ASSIGN(const auto call, validate::hand_over(queue, count, memory, waits, list));
    return call.queue->hand_over(call.memory, what, submission(type, list, event));
  });
}

}  // namespace

cl_int CL_API_CALL clEnqueueAcquireExternalMemObjectsKHR(
    cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem* mem_objects,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueAcquireExternalMemObjectsKHR", backends::HandOver::kAcquire,
                   CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR, command_queue, num_mem_objects,
                   mem_objects, {num_events_in_wait_list, event_wait_list}, event);
}

cl_int CL_API_CALL clEnqueueReleaseExternalMemObjectsKHR(
    cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem* mem_objects,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueReleaseExternalMemObjectsKHR", backends::HandOver::kRelease,
                   CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR, command_queue, num_mem_objects,
                   mem_objects, {num_events_in_wait_list, event_wait_list}, event);
}

}  // namespace tutti::icd
