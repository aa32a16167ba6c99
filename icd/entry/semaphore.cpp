// SPDX-License-Identifier: Apache-2.0
// Entry points of cl_khr_semaphore and cl_khr_external_semaphore.
#include "icd/validate/semaphore.h"

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"

namespace tutti::icd {

using device_virtual::InfoAnswer;
using device_virtual::Semaphore;
using validate::WaitList;

cl_semaphore_khr CL_API_CALL clCreateSemaphoreWithPropertiesKHR(
    cl_context context, const cl_semaphore_properties_khr* sema_props, cl_int* errcode_ret) {
  return entry_object(
      "clCreateSemaphoreWithPropertiesKHR", errcode_ret, [&]() -> Result<cl_semaphore_khr> {
        TUTTI_ASSIGN(auto call, validate::create_semaphore(context, sema_props));
        TUTTI_ASSIGN(auto* const made, Semaphore::create(*call.context, std::move(call.options)));
        return made->handle();
      });
}

cl_int CL_API_CALL clRetainSemaphoreKHR(cl_semaphore_khr sema_object) {
  return entry("clRetainSemaphoreKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::semaphore(sema_object));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseSemaphoreKHR(cl_semaphore_khr sema_object) {
  return entry("clReleaseSemaphoreKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::semaphore(sema_object));
    if (!object->release_public()) return fail(CL_INVALID_SEMAPHORE_KHR, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clGetSemaphoreInfoKHR(cl_semaphore_khr sema_object,
                                         cl_semaphore_info_khr param_name, size_t param_value_size,
                                         void* param_value, size_t* param_value_size_ret) {
  return entry("clGetSemaphoreInfoKHR", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::semaphore(sema_object));
    return object->info(param_name,
                        InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

// Payloads "will be ignored if no semaphores in the list of sema_objects require a payload", which
// binary ones do not.
cl_int CL_API_CALL clEnqueueWaitSemaphoresKHR(cl_command_queue command_queue,
                                              cl_uint num_sema_objects,
                                              const cl_semaphore_khr* sema_objects,
                                              const cl_semaphore_payload_khr* /*payloads*/,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueWaitSemaphoresKHR", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::on_semaphores(command_queue, num_sema_objects, sema_objects,
                                         {num_events_in_wait_list, event_wait_list}, list));
    return call.queue->wait_for(call.semaphores,
                                submission(CL_COMMAND_SEMAPHORE_WAIT_KHR, list, event));
  });
}

cl_int CL_API_CALL clEnqueueSignalSemaphoresKHR(cl_command_queue command_queue,
                                                cl_uint num_sema_objects,
                                                const cl_semaphore_khr* sema_objects,
                                                const cl_semaphore_payload_khr* /*payloads*/,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueSignalSemaphoresKHR", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::on_semaphores(command_queue, num_sema_objects, sema_objects,
                                         {num_events_in_wait_list, event_wait_list}, list));
    return call.queue->signal(call.semaphores,
                              submission(CL_COMMAND_SEMAPHORE_SIGNAL_KHR, list, event));
  });
}

cl_int CL_API_CALL clGetSemaphoreHandleForTypeKHR(cl_semaphore_khr sema_object, cl_device_id device,
                                                  cl_external_semaphore_handle_type_khr handle_type,
                                                  size_t handle_size, void* handle_ptr,
                                                  size_t* handle_size_ret) {
  return entry("clGetSemaphoreHandleForTypeKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::exported_semaphore(sema_object, device));
    return object->export_handle(handle_type, InfoAnswer(handle_size, handle_ptr, handle_size_ret));
  });
}

cl_int CL_API_CALL clReImportSemaphoreSyncFdKHR(cl_semaphore_khr sema_object,
                                                cl_properties* /*reimport_props: none is defined*/,
                                                int fd) {
  return entry("clReImportSemaphoreSyncFdKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::semaphore(sema_object));
    return object->import_again(fd);
  });
}

}  // namespace tutti::icd
