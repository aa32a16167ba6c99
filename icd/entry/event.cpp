// SPDX-License-Identifier: Apache-2.0
// Entry points of events.
#include "icd/validate/event.h"

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {

using device_virtual::Event;

cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int* errcode_ret) {
  return entry_object("clCreateUserEvent", errcode_ret, [&]() -> Result<cl_event> {
    TUTTI_ASSIGN(auto* const object, validate::context(context));
    return (new Event(*object, object->engine().create_user_command()))->handle();
  });
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int execution_status) {
  return entry("clSetUserEventStatus", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::set_user_event_status(event, execution_status));
    return object->set_user_status(execution_status);
  });
}

cl_int CL_API_CALL clWaitForEvents(cl_uint num_events, const cl_event* event_list) {
  return entry("clWaitForEvents", [&]() -> Status {
    validate::WaitList list;
    TUTTI_ASSIGN(auto* const context, validate::wait_for_events(num_events, event_list, list));
    return context->engine().wait(list.commands());
  });
}

cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info param_name, size_t param_value_size,
                                  void* param_value, size_t* param_value_size_ret) {
  return entry("clGetEventInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::event(event));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clRetainEvent(cl_event event) {
  return entry("clRetainEvent", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::event(event));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseEvent(cl_event event) {
  return entry("clReleaseEvent", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::event(event));
    if (!object->release_public()) return fail(CL_INVALID_EVENT, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int command_exec_callback_type,
                                      void(CL_CALLBACK* pfn_notify)(cl_event, cl_int, void*),
                                      void* user_data) {
  return entry("clSetEventCallback", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object,
                 validate::set_event_callback(event, command_exec_callback_type,
                                              reinterpret_cast<const void*>(pfn_notify)));
    object->add_callback(command_exec_callback_type, pfn_notify, user_data);
    return {};
  });
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name,
                                           size_t param_value_size, void* param_value,
                                           size_t* param_value_size_ret) {
  return entry("clGetEventProfilingInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::event(event));
    return object->profiling_info(param_name,
                                  {param_value_size, param_value, param_value_size_ret});
  });
}

}  // namespace tutti::icd
