// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/common.h"

namespace tutti::icd::validate {
namespace {

template <class T>
Result<T*> object(typename T::CApi* handle, cl_int code, const char* what) {
  if (T* found = device_virtual::from_handle<T>(handle)) return found;
  return fail(code,
              std::string(handle == nullptr ? "NULL is not a valid " : "not a valid ") + what);
}

}  // namespace

Result<platform::Platform*> platform(cl_platform_id handle) {
  return object<platform::Platform>(handle, CL_INVALID_PLATFORM, "platform");
}
Result<device_virtual::Device*> device(cl_device_id handle) {
  return object<device_virtual::Device>(handle, CL_INVALID_DEVICE, "device");
}
Result<device_virtual::Context*> context(cl_context handle) {
  return object<device_virtual::Context>(handle, CL_INVALID_CONTEXT, "context");
}
Result<device_virtual::CommandQueue*> any_queue(cl_command_queue handle) {
  return object<device_virtual::CommandQueue>(handle, CL_INVALID_COMMAND_QUEUE, "command-queue");
}
Result<device_virtual::CommandQueue*> queue(cl_command_queue handle) {
  TUTTI_ASSIGN(auto* const found, any_queue(handle));
  if (found->on_device()) return fail(CL_INVALID_COMMAND_QUEUE, "a queue on the device");
  return found;
}
Result<device_virtual::Buffer*> memory(cl_mem handle) {
  return object<device_virtual::Buffer>(handle, CL_INVALID_MEM_OBJECT, "memory object");
}
Result<device_virtual::Buffer*> buffer(cl_mem handle) {
  TUTTI_ASSIGN(auto* const found, memory(handle));
  if (found->image()) return fail(CL_INVALID_MEM_OBJECT, "an image, not a buffer object");
  if (found->pipe()) return fail(CL_INVALID_MEM_OBJECT, "a pipe, not a buffer object");
  return found;
}
Result<device_virtual::Buffer*> image(cl_mem handle) {
  TUTTI_ASSIGN(auto* const found, memory(handle));
  if (!found->image()) return fail(CL_INVALID_MEM_OBJECT, "not an image object");
  return found;
}
Result<device_virtual::Buffer*> pipe(cl_mem handle) {
  TUTTI_ASSIGN(auto* const found, memory(handle));
  if (!found->pipe()) return fail(CL_INVALID_MEM_OBJECT, "not a pipe object");
  return found;
}
Result<device_virtual::Sampler*> sampler(cl_sampler handle) {
  return object<device_virtual::Sampler>(handle, CL_INVALID_SAMPLER, "sampler object");
}
Result<device_virtual::Event*> event(cl_event handle) {
  return object<device_virtual::Event>(handle, CL_INVALID_EVENT, "event object");
}

Status wait_list(const device_virtual::Context& context, cl_uint count, const cl_event* events,
                 WaitList& list) {
  // "CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0, or
  // event_wait_list is not NULL and num_events_in_wait_list is 0, or if event objects in
  // event_wait_list are not valid events."
  if ((events == nullptr) != (count == 0)) {
    return fail(CL_INVALID_EVENT_WAIT_LIST, "event_wait_list and its length contradict each other");
  }
  bool foreign = false;
  for (cl_uint i = 0; i < count; ++i) {
    auto* event = device_virtual::from_handle<device_virtual::Event>(events[i]);
    if (event == nullptr) {
      return fail(CL_INVALID_EVENT_WAIT_LIST, "event_wait_list names something not a valid event");
    }
    foreign |= &event->context() != &context;
    list.add(event->command());
  }
  // "CL_INVALID_CONTEXT if the context associated with command_queue and events in event_wait_list
  // are not the same."
  if (foreign) return fail(CL_INVALID_CONTEXT, "an event of the wait list is of another context");
  return {};
}

}  // namespace tutti::icd::validate
