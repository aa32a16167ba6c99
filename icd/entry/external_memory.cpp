// SPDX-License-Identifier: Apache-2.0
// Entry points of the commands of cl_khr_external_memory and cl_khr_gl_sharing, which hand memory
// over between OpenCL and another interface.
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/validate/memory_properties.h"

namespace tutti::icd {
namespace {

using backends::ExternalKind;
using backends::HandOver;

cl_int hand_over(const char* name, ExternalKind kind, HandOver what, cl_command_type type,
                 cl_command_queue queue, cl_uint count, const cl_mem* memory,
                 validate::RawWaitList waits, cl_event* event) {
  return entry(name, [&]() -> Status {
    validate::WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::hand_over(name, kind, queue, count, memory, waits, list));
    return call.queue->hand_over(call.memory, what, submission(type, list, event));
  });
}

}  // namespace

cl_int CL_API_CALL clEnqueueAcquireExternalMemObjectsKHR(
    cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem* mem_objects,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueAcquireExternalMemObjectsKHR", ExternalKind::kHandle,
                   HandOver::kAcquire, CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR, command_queue,
                   num_mem_objects, mem_objects, {num_events_in_wait_list, event_wait_list}, event);
}

cl_int CL_API_CALL clEnqueueReleaseExternalMemObjectsKHR(
    cl_command_queue command_queue, cl_uint num_mem_objects, const cl_mem* mem_objects,
    cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueReleaseExternalMemObjectsKHR", ExternalKind::kHandle,
                   HandOver::kRelease, CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR, command_queue,
                   num_mem_objects, mem_objects, {num_events_in_wait_list, event_wait_list}, event);
}

cl_int CL_API_CALL clEnqueueAcquireGLObjects(cl_command_queue command_queue, cl_uint num_objects,
                                             const cl_mem* mem_objects,
                                             cl_uint num_events_in_wait_list,
                                             const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueAcquireGLObjects", ExternalKind::kGl, HandOver::kAcquire,
                   CL_COMMAND_ACQUIRE_GL_OBJECTS, command_queue, num_objects, mem_objects,
                   {num_events_in_wait_list, event_wait_list}, event);
}

cl_int CL_API_CALL clEnqueueReleaseGLObjects(cl_command_queue command_queue, cl_uint num_objects,
                                             const cl_mem* mem_objects,
                                             cl_uint num_events_in_wait_list,
                                             const cl_event* event_wait_list, cl_event* event) {
  return hand_over("clEnqueueReleaseGLObjects", ExternalKind::kGl, HandOver::kRelease,
                   CL_COMMAND_RELEASE_GL_OBJECTS, command_queue, num_objects, mem_objects,
                   {num_events_in_wait_list, event_wait_list}, event);
}

}  // namespace tutti::icd
