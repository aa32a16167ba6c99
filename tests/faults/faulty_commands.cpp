// SPDX-License-Identifier: Apache-2.0
#include "faulty_commands.h"

#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti::faulty {
namespace {

constexpr int kPolls = 2;  // how often an event says that it has not ended, if nobody waits

struct Delayed {
  CarryOut carry_out;
  std::vector<cl_event> wait;  // retained, of the vendor
  cl_event event = nullptr;    // ours, or null
};

struct Queue {
  std::recursive_mutex running;  // held while delayed commands are carried out
  std::deque<Delayed> delayed;
  std::atomic<bool> hangs{false};
  cl_int untold = CL_SUCCESS;  // a command that nobody can ask has failed
};

struct OurEvent {
  enum class Kind : uint8_t { kFails, kDelayed, kHangs } kind = Kind::kFails;
  cl_int status = CL_SUBMITTED;  // when it has ended
  bool ended = false;
  int polls = kPolls;
  cl_command_queue queue = nullptr;
};

struct State {
  std::mutex mutex;
  std::map<cl_command_queue, std::shared_ptr<Queue>> queues;
  std::map<cl_event, OurEvent> events;
};

State& state() {
  static auto* kept = new State;
  return *kept;
}

cl_icd_dispatch vendors_table{};

std::shared_ptr<Queue> state_of(cl_command_queue handle) {
  std::lock_guard lock(state().mutex);
  auto& found = state().queues[handle];
  if (!found) found = std::make_shared<Queue>();
  return found;
}

std::optional<OurEvent> our(cl_event event) {
  std::lock_guard lock(state().mutex);
  const auto found = state().events.find(event);
  if (found == state().events.end()) return std::nullopt;
  return found->second;
}

cl_command_queue queue_of(cl_event event) {
  if (const auto ours = our(event)) return ours->queue;
  cl_command_queue queue = nullptr;
  vendor().clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  return queue;
}

cl_event make_event(cl_command_queue queue, OurEvent::Kind kind, cl_int status) {
  cl_context context = nullptr;
  vendor().clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  cl_event made = vendor().clCreateUserEvent(context, nullptr);
  std::lock_guard lock(state().mutex);
  state().events[made] = {kind, status, false, kPolls, queue};
  return made;
}

void end_event(cl_event event, cl_int status) {
  std::lock_guard lock(state().mutex);
  const auto found = state().events.find(event);
  if (found == state().events.end()) return;
  found->second.status = status;
  found->second.ended = true;
}

void carry_out(cl_command_queue handle, Queue& queue) {
  std::lock_guard running(queue.running);
  bool any = false;
  for (;;) {
    Delayed next;
    {
      std::lock_guard lock(state().mutex);
      if (queue.delayed.empty()) break;
      next = std::move(queue.delayed.front());
      queue.delayed.pop_front();
    }
    any = true;
    const auto count = static_cast<cl_uint>(next.wait.size());
    cl_int code = next.carry_out(count, count > 0 ? next.wait.data() : nullptr, nullptr);
    if (code == CL_SUCCESS) code = vendor().clFinish(handle);
    for (cl_event event : next.wait) vendor().clReleaseEvent(event);
    if (next.event != nullptr) end_event(next.event, code == CL_SUCCESS ? CL_COMPLETE : code);
  }
  if (any) vendor().clFinish(handle);
}

void carry_out(cl_command_queue handle) { carry_out(handle, *state_of(handle)); }

/// What the events of ours in a wait list come to; the others are left in `wait`.
struct Dependencies {
  bool failed = false, hang = false;
  std::vector<cl_event> wait;
};

Dependencies look_at(cl_uint count, const cl_event* events) {
  Dependencies found;
  for (cl_uint i = 0; i < count; ++i) {
    const auto event = our(events[i]);
    if (!event) {
      found.wait.push_back(events[i]);
    } else if (event->kind == OurEvent::Kind::kHangs) {
      found.hang = true;
    } else if (event->kind == OurEvent::Kind::kFails) {
      found.failed = true;
    } else {
      carry_out(event->queue);
      found.failed |= our(events[i]).value_or(OurEvent{}).status < 0;
    }
  }
  return found;
}

/// Commands of the queue that have failed were before one that has ended now: no event of theirs
/// says any longer that it has not.
void end_failures(cl_command_queue queue) {
  std::lock_guard lock(state().mutex);
  for (auto& [handle, event] : state().events) {
    if (event.queue == queue && event.kind == OurEvent::Kind::kFails) event.ended = true;
  }
}

/// The command has failed or will: whoever can be told is.
cl_int fail_later(const Command& command, Queue& queue, cl_int error) {
  if (command.blocking) return error;
  if (command.event != nullptr) {
    *command.event = make_event(command.queue, OurEvent::Kind::kFails, error);
  } else {
    std::lock_guard lock(state().mutex);
    queue.untold = error;
  }
  return CL_SUCCESS;
}

cl_int hang(const Command& command) {
  if (command.blocking) wait_for_ever();
  if (command.event != nullptr) {
    *command.event = make_event(command.queue, OurEvent::Kind::kHangs, CL_SUBMITTED);
  }
  return CL_SUCCESS;
}

cl_int delay(const Command& command, Queue& queue, CarryOut kept, std::vector<cl_event> wait) {
  for (cl_event event : wait) vendor().clRetainEvent(event);
  Delayed delayed{std::move(kept), std::move(wait), nullptr};
  if (command.event != nullptr) {
    *command.event = delayed.event =
        make_event(command.queue, OurEvent::Kind::kDelayed, CL_SUBMITTED);
  }
  std::lock_guard lock(state().mutex);
  queue.delayed.push_back(std::move(delayed));
  return CL_SUCCESS;
}

}  // namespace

void wait_for_ever() {
  for (;;) pause();
}

const cl_icd_dispatch& vendor() { return vendors_table; }
void set_vendor(const cl_icd_dispatch& table) { vendors_table = table; }

cl_int enqueue(const Command& command, Fault fault) {
  const auto queue = state_of(command.queue);
  if (fault.mode == Mode::kFail) return fault.error;
  Dependencies on = look_at(command.wait_count, command.wait);
  bool waiting = false;
  cl_int untold = CL_SUCCESS;
  {
    std::lock_guard lock(state().mutex);
    if (fault.mode == Mode::kHang || on.hang) queue->hangs = true;
    untold = queue->untold;
    waiting = !queue->delayed.empty();
  }
  if (queue->hangs) return hang(command);
  if (fault.mode == Mode::kEvent) return fail_later(command, *queue, fault.error);
  if (on.failed) {
    return fail_later(command, *queue, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  if (untold != CL_SUCCESS) return fail_later(command, *queue, untold);
  if ((fault.mode == Mode::kDelay || waiting) && !command.blocking && command.keep) {
    if (CarryOut kept = command.keep()) {
      return delay(command, *queue, std::move(kept), std::move(on.wait));
    }
  }
  if (waiting) carry_out(command.queue, *queue);
  if (command.blocking) end_failures(command.queue);
  const auto count = static_cast<cl_uint>(on.wait.size());
  const cl_event* wait = count > 0 ? on.wait.data() : nullptr;
  if (fault.mode != Mode::kEventDone && fault.mode != Mode::kEventHalf &&
      fault.mode != Mode::kFailDone) {
    return command.carry_out(count, wait, command.event);
  }
  const bool half = fault.mode == Mode::kEventHalf && command.half;
  const cl_int code = (half ? command.half : command.carry_out)(count, wait, nullptr);
  if (code == CL_SUCCESS) vendor().clFinish(command.queue);
  if (fault.mode == Mode::kFailDone) return fault.error;
  return fail_later(command, *queue, fault.error);
}

cl_int flush(cl_command_queue handle) {
  const auto queue = state_of(handle);
  return queue->hangs ? CL_SUCCESS : vendor().clFlush(handle);
}

cl_int finish(cl_command_queue handle) {
  const auto queue = state_of(handle);
  if (queue->hangs) wait_for_ever();
  carry_out(handle, *queue);
  end_failures(handle);
  const cl_int code = vendor().clFinish(handle);
  std::lock_guard lock(state().mutex);
  const cl_int untold = std::exchange(queue->untold, CL_SUCCESS);
  return untold != CL_SUCCESS ? untold : code;
}

cl_int wait_for(cl_uint count, const cl_event* events) {
  const Dependencies on = look_at(count, events);
  if (on.hang) wait_for_ever();
  for (cl_uint i = 0; i < count; ++i) end_failures(queue_of(events[i]));
  const cl_int code = on.wait.empty() ? CL_SUCCESS
                                      : vendor().clWaitForEvents(
                                            static_cast<cl_uint>(on.wait.size()), on.wait.data());
  return on.failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : code;
}

std::optional<cl_int> status_of(cl_event event) {
  OurEvent seen;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().events.find(event);
    if (found == state().events.end()) return std::nullopt;
    OurEvent& ours = found->second;
    if (ours.ended) return ours.status;
    if (ours.kind == OurEvent::Kind::kHangs || ours.polls-- > 0) return CL_SUBMITTED;
    if (ours.kind == OurEvent::Kind::kFails) {
      ours.ended = true;
      return ours.status;
    }
    seen = ours;
  }
  carry_out(seen.queue);
  return our(event).value_or(OurEvent{}).status;
}

void note_ended(cl_event event) { end_failures(queue_of(event)); }

bool is_ours(cl_event event) { return our(event).has_value(); }

int device_of(cl_event event) {
  const cl_command_queue queue = queue_of(event);
  return queue != nullptr ? device_of(queue) : 0;
}

void release(cl_event event) {
  std::lock_guard lock(state().mutex);
  state().events.erase(event);
}

void release(cl_command_queue queue) {
  std::lock_guard lock(state().mutex);
  state().queues.erase(queue);
}

void carry_out_all() {
  std::vector<std::pair<cl_command_queue, std::shared_ptr<Queue>>> queues;
  {
    std::lock_guard lock(state().mutex);
    for (const auto& [handle, queue] : state().queues) {
      if (!queue->delayed.empty()) queues.emplace_back(handle, queue);
    }
  }
  for (const auto& [handle, queue] : queues) carry_out(handle, *queue);
}

}  // namespace tutti::faulty
