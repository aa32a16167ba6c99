// SPDX-License-Identifier: Apache-2.0
#include "steps.h"

namespace tutti::api_fuzz {
namespace {

constexpr size_t kMostEvents = 60;

/// What a callback needs: it may run when the world is long at another step.
struct Call {
  Tally* tally;
  cl_command_queue queue;  // retained for it; may be null
};

void CL_CALLBACK called_back(cl_event event, cl_int status, void* data) {
  // The driver must not hold a lock here: ask it this and that.
  auto* const call = static_cast<Call*>(data);
  cl_int value = 0;
  bool good = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof value, &value,
                             nullptr) == CL_SUCCESS;
  good &= clRetainEvent(event) == CL_SUCCESS && clReleaseEvent(event) == CL_SUCCESS;
  good &= status <= CL_SUBMITTED;
  cl_context context = nullptr;
  good &= clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr) == CL_SUCCESS;
  if (call->queue != nullptr) {
    good &= clEnqueueMarkerWithWaitList(call->queue, 0, nullptr, nullptr) == CL_SUCCESS;
    good &= clFlush(call->queue) == CL_SUCCESS;
    good &= clReleaseCommandQueue(call->queue) == CL_SUCCESS;
  }
  if (!good) ++call->tally->failures;
  ++call->tally->callbacks_called;
  delete call;
}

void create_user_event(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context) return;
  if (w.random.one_in(20)) {
    Expected expected;
    expected.error(CL_INVALID_CONTEXT);
    cl_int code = 1;
    clCreateUserEvent(w.wrong<cl_context>(Kind::kContext), &code);
    w.check("clCreateUserEvent", expected, code);
    return;
  }
  if (w.all(Kind::kEvent).size() >= kMostEvents) return;
  cl_int code = 1;
  cl_event made = clCreateUserEvent(context->as<cl_context>(), &code);
  w.check("clCreateUserEvent", {}, code);
  if (made == nullptr) return;
  const ObjectRef event = w.add(Kind::kEvent, made, context);
  event->user_event = w.new_user_event();
  event->needs = event->fails_with = {event->user_event};
}

void set_user_event(World& w) {
  const ObjectRef event = w.any(Kind::kEvent);
  if (!event) return;
  cl_int status = w.random.pick<cl_int>({CL_COMPLETE, CL_COMPLETE, -5, -9999});
  Expected expected;
  if (event->user_event == 0) {
    expected.error(CL_INVALID_EVENT);
  } else if (w.settled(event->user_event)) {
    expected.error(CL_INVALID_OPERATION);
  }
  if (w.random.one_in(6)) {
    status = w.random.pick<cl_int>({CL_RUNNING, CL_SUBMITTED, CL_QUEUED, 77});
    expected.error(CL_INVALID_VALUE);
  }
  if (expected.success()) w.settle(event->user_event, status);
  w.check("clSetUserEventStatus", expected, clSetUserEventStatus(event->as<cl_event>(), status));
}

void drop_events(World& w) {
  // Many steps make events: most are given back soon.
  while (w.all(Kind::kEvent).size() > kMostEvents / 2) {
    const ObjectRef event = w.any(Kind::kEvent);
    if (event->user_event != 0) w.complete({event->user_event});
    for (int i = event->references; i > 0; --i) w.release(event);
  }
}

void wait_for_events(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context) return;
  World::WaitList waits = w.wait_list(context);
  Expected expected;
  if (!waits.expected.success()) {
    expected.error(CL_INVALID_VALUE);
    expected.error(CL_INVALID_EVENT);
    expected.error(CL_INVALID_CONTEXT);
    // The loader takes the first one for an event; one alone is of one context.
    if (waits.count == 0 || waits.handles.size() < 2) {
      waits.handles.clear();
      waits.count = 0;
    }
  }
  expected.error_if(waits.count == 0, CL_INVALID_VALUE);
  if (waits.count == 0) {
    w.check("clWaitForEvents", expected, clWaitForEvents(0, nullptr));
    return;
  }
  w.complete(waits.needs);
  w.expect_waiting(expected, waits, true);
  w.check("clWaitForEvents", expected, clWaitForEvents(waits.count, waits.list()));
}

void add_callback(World& w) {
  const ObjectRef event = w.any(Kind::kEvent);
  if (!event) return;
  const auto handle = event->as<cl_event>();
  cl_int type = w.random.pick<cl_int>({CL_COMPLETE, CL_COMPLETE, CL_RUNNING, CL_SUBMITTED});
  Expected expected;
  expected.error(CL_INVALID_VALUE);
  if (w.random.one_in(10)) {
    type = w.random.pick<cl_int>({CL_QUEUED, 17, -1});
    w.check("clSetEventCallback", expected, clSetEventCallback(handle, type, called_back, nullptr));
    return;
  }
  if (w.random.one_in(20)) {
    w.check("clSetEventCallback", expected, clSetEventCallback(handle, type, nullptr, nullptr));
    return;
  }
  auto* const call = new Call{&w.tally, nullptr};
  // Not in an in-order queue that other steps reckon with.
  const ObjectRef queue = w.any_of(Kind::kQueue, event->context);
  if (queue && queue->out_of_order && w.random.one_in(2)) {
    call->queue = queue->as<cl_command_queue>();
    queue->lent = true;
    w.check("clRetainCommandQueue", {}, clRetainCommandQueue(call->queue));
  }
  ++w.tally.callbacks_set;
  w.check("clSetEventCallback", {}, clSetEventCallback(handle, type, called_back, call));
}

void order(World& w) {
  QueueChoice on;
  if (!choose_queue(w, on)) return;
  World::WaitList waits = w.wait_list(on.queue->context);
  Expected expected = waits.expected;
  expected.error_if(on.wrong, CL_INVALID_COMMAND_QUEUE);
  cl_event event = nullptr;
  cl_event* const place = w.random.one_in(2) ? &event : nullptr;
  const bool barrier = w.random.one_in(2);
  const cl_int code =
      barrier ? clEnqueueBarrierWithWaitList(on.handle, waits.count, waits.list(), place)
              : clEnqueueMarkerWithWaitList(on.handle, waits.count, waits.list(), place);
  const bool valid = expected.success();
  w.check(barrier ? "clEnqueueBarrierWithWaitList" : "clEnqueueMarkerWithWaitList", expected, code);
  if (valid) w.enqueued(on.queue, waits, event, true, barrier);
}

void order_as_before(World& w) {
  QueueChoice on;
  if (!choose_queue(w, on) || on.wrong) return;
  World::WaitList nothing;
  cl_event event = nullptr;
  if (w.random.one_in(2)) {
    w.check("clEnqueueMarker", {}, clEnqueueMarker(on.handle, &event));
    w.enqueued(on.queue, nothing, event, true);
  } else {
    w.check("clEnqueueBarrier", {}, clEnqueueBarrier(on.handle));
    w.enqueued(on.queue, nothing, nullptr, true, true);
  }
}

void flush(World& w) {
  QueueChoice on;
  if (!choose_queue(w, on)) return;
  Expected expected;
  expected.error_if(on.wrong, CL_INVALID_COMMAND_QUEUE);
  w.check("clFlush", expected, clFlush(on.handle));
}

void finish(World& w) {
  QueueChoice on;
  if (!choose_queue(w, on)) return;
  Expected expected;
  expected.error_if(on.wrong, CL_INVALID_COMMAND_QUEUE);
  if (!on.wrong) {
    if (w.pending(on.queue->needs) && !w.random.one_in(4)) return;  // leave them waiting
    w.complete(on.queue->needs);
  }
  w.check("clFinish", expected, clFinish(on.handle));
}

}  // namespace

Steps event_steps() {
  return {
      {"create a user event", 6, create_user_event},
      {"set a user event", 5, set_user_event},
      {"drop events", 5, drop_events},
      {"wait for events", 4, wait_for_events},
      {"add a callback", 5, add_callback},
      {"marker or barrier", 6, order},
      {"marker or barrier of OpenCL 1.0", 2, order_as_before},
      {"flush", 4, flush},
      {"finish", 4, finish},
  };
}

}  // namespace tutti::api_fuzz
