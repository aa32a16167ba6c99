// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/event.h"

#include <algorithm>
#include <utility>

#include "base/process_exit.h"

namespace tutti::device_virtual {

Event::Event(CommandQueue& queue, Ref<scheduler::Command> command, Ref<scheduler::Command> first)
    : context_(&queue.context()),
      queue_(&queue),
      profiled_(queue.profiling()),
      command_(std::move(command)),
      first_(std::move(first)) {}

Event::Event(Context& context, Ref<scheduler::Command> command)
    : context_(&context), command_(std::move(command)) {}

Event::~Event() = default;

Status Event::set_user_status(cl_int status) {
  return context_->engine().set_user_status(*command_, status);
}

void Event::add_callback(cl_int type, Callback callback, void* user_data) {
  command_->add_callback(
      type, [self = Ref<Event>(this), type, callback, user_data](cl_int status) mutable {
        // Moved here, so that what it may be the last to own ends inside the scope.
        const Ref<Event> event = std::move(self);
        // "event_command_status: … or a negative integer value"; a state passed by counts as
        // reached.
        const ApplicationCode code;
        callback(event->handle(), status < 0 ? status : type, user_data);
      });
}

Status Event::info(cl_event_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_EVENT_COMMAND_QUEUE:
      return answer.value<cl_command_queue>(queue_ ? queue_->handle() : nullptr);
    case CL_EVENT_CONTEXT:
      return answer.value<cl_context>(context_->handle());
    case CL_EVENT_COMMAND_TYPE:
      return answer.value<cl_command_type>(command_->type());
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      // "a user event object … the initial value is CL_SUBMITTED"
      if (is_user() && command_->status() > CL_SUBMITTED) return answer.value<cl_int>(CL_SUBMITTED);
      return answer.value<cl_int>(command_->status());
    case CL_EVENT_REFERENCE_COUNT:
      return answer.value(public_references());
    default:
      return unknown_query();
  }
}

Status Event::profiling_info(cl_profiling_info what, const InfoAnswer& answer) const {
  // "CL_PROFILING_INFO_NOT_AVAILABLE if the CL_QUEUE_PROFILING_ENABLE flag is not set for the
  // command-queue, if the execution status of the command identified by event is not CL_COMPLETE or
  // if event is a user event object."
  if (!profiled_ || command_->status() != CL_COMPLETE) {
    return fail(CL_PROFILING_INFO_NOT_AVAILABLE);
  }
  scheduler::CommandTimes times = command_->times();
  if (first_) {
    const scheduler::CommandTimes begin = first_->times();
    times.queued = begin.queued;
    times.submitted = begin.submitted;
    times.started = std::min(begin.started, times.ended);
  }
  switch (what) {
    case CL_PROFILING_COMMAND_QUEUED:
      return answer.value<cl_ulong>(times.queued);
    case CL_PROFILING_COMMAND_SUBMIT:
      return answer.value<cl_ulong>(times.submitted);
    case CL_PROFILING_COMMAND_START:
      return answer.value<cl_ulong>(times.started);
    case CL_PROFILING_COMMAND_END:
    case CL_PROFILING_COMMAND_COMPLETE:  // no child commands here: nothing ends later
      return answer.value<cl_ulong>(times.ended);
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
