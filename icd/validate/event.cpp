// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/event.h"

namespace tutti::icd::validate {

Result<device_virtual::Event*> set_user_event_status(cl_event handle, cl_int status) {
  // "CL_INVALID_EVENT if event is not a valid user event object."
  TUTTI_ASSIGN(auto* const found, event(handle));
  if (!found->is_user()) return fail(CL_INVALID_EVENT, "not a user event");
  // "CL_INVALID_VALUE if the execution_status is not CL_COMPLETE or a negative integer value."
  if (status > CL_COMPLETE) return fail(CL_INVALID_VALUE, "neither CL_COMPLETE nor negative");
  // CL_INVALID_OPERATION, when the status was set before, is the engine's answer.
  return found;
}

Result<device_virtual::Event*> set_event_callback(cl_event handle, cl_int type,
                                                  const void* notify) {
  // "CL_INVALID_EVENT if event is not a valid event object."
  TUTTI_ASSIGN(auto* const found, event(handle));
  // "CL_INVALID_VALUE if pfn_event_notify is NULL or if command_exec_callback_type is not
  // CL_SUBMITTED, CL_RUNNING, or CL_COMPLETE."
  if (notify == nullptr || (type != CL_SUBMITTED && type != CL_RUNNING && type != CL_COMPLETE)) {
    return fail(CL_INVALID_VALUE, "no callback function, or not a status to wait for");
  }
  return found;
}

Result<device_virtual::Context*> wait_for_events(cl_uint count, const cl_event* events,
                                                 WaitList& list) {
  // "CL_INVALID_VALUE if num_events is zero or event_list is NULL."
  if (count == 0 || events == nullptr) return fail(CL_INVALID_VALUE, "no events");
  device_virtual::Context* context = nullptr;
  bool mixed = false;
  for (cl_uint i = 0; i < count; ++i) {
    // "CL_INVALID_EVENT if event objects specified in event_list are not valid event objects."
    TUTTI_ASSIGN(auto* const found, event(events[i]));
    mixed |= context != nullptr && context != &found->context();
    context = &found->context();
    list.add(found->command());
  }
  // "CL_INVALID_CONTEXT if events specified in event_list do not belong to the same context."
  if (mixed) return fail(CL_INVALID_CONTEXT, "events of several contexts");
  return context;
}

}  // namespace tutti::icd::validate
