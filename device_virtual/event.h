// SPDX-License-Identifier: Apache-2.0
// An event: the application's view of an entry of the command log. Thread-safe.
#pragma once

#include <CL/cl.h>

#include "device_virtual/command_queue.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "scheduler/command/command.h"

namespace tutti::device_virtual {

class Event : public Handle<Event, _cl_event, Kind::kEvent> {
 public:
  using Callback = void(CL_CALLBACK*)(cl_event, cl_int, void*);

  /// `first`: of several commands that it stands for, the one that begins them; else null.
  Event(CommandQueue& queue, Ref<scheduler::Command> command,
        Ref<scheduler::Command> first = nullptr);
  /// A user event.
  Event(Context& context, Ref<scheduler::Command> command);
  ~Event();

  Context& context() const { return *context_; }
  scheduler::Command& command() const { return *command_; }
  bool is_user() const { return !queue_; }

  Status set_user_status(cl_int status);
  /// `type` is CL_SUBMITTED, CL_RUNNING or CL_COMPLETE.
  void add_callback(cl_int type, Callback callback, void* user_data);
  Status info(cl_event_info what, const InfoAnswer& answer) const;
  Status profiling_info(cl_profiling_info what, const InfoAnswer& answer) const;

 private:
  const Ref<Context> context_;     // first, so that the engine outlives the command
  const Ref<CommandQueue> queue_;  // null: a user event
  const bool profiled_ = false;    // enqueued while the queue measured times
  const Ref<scheduler::Command> command_;
  const Ref<scheduler::Command> first_;
};

}  // namespace tutti::device_virtual
