// SPDX-License-Identifier: Apache-2.0
#include "tools/replay_waits.h"

#include <CL/cl.h>

#include <algorithm>
#include <iterator>

#include "tools/recorded_arguments.h"

namespace tutti::tools {

using record::Call;
using record::Object;
using record::ObjectKind;
using record::Value;

namespace {

bool is_out_of_order(const Call& call) {
  if (call.name == "clCreateCommandQueue") {
    return (number_at(call, 2) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  }
  if (call.arguments.size() < 3) return false;
  const std::vector<uint64_t>& list = call.arguments[2].numbers;
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == CL_QUEUE_PROPERTIES) {
      return (list[i + 1] & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    }
  }
  return false;
}

void add(ReplayWaits::UserEvents& to, const ReplayWaits::UserEvents& more) {
  to.insert(more.begin(), more.end());
}

}  // namespace

ReplayWaits::UserEvents ReplayWaits::still_open(const UserEvents& events) const {
  UserEvents both;
  std::set_intersection(events.begin(), events.end(), open_.begin(), open_.end(),
                        std::inserter(both, both.end()));
  return both;
}

ReplayWaits::UserEvents ReplayWaits::of_list(const Call& call) const {
  UserEvents events;
  for (const Value& value : call.arguments) {
    if (value.type != Value::Type::kObjects) continue;
    for (const Object object : value.objects) {
      const auto found = of_event_.find(object.number);
      if (object.kind == ObjectKind::kEvent && found != of_event_.end()) {
        add(events, found->second);
      }
    }
  }
  return still_open(events);
}

void ReplayWaits::made(const Call& call) {
  if (call.name == "clSetUserEventStatus") {
    has_ended(object_at(call, 0).number);
  } else if (call.name == "clSetCommandQueueProperty") {
    if ((number_at(call, 1) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
      queues_[object_at(call, 0).number].out_of_order = number_at(call, 2) != 0;
    }
  } else if (!call.created.empty() && call.name == "clCreateUserEvent") {
    const uint64_t number = call.created.front().number;
    open_.insert(number);
    of_event_[number] = {number};
  } else if (!call.created.empty() && call.name.starts_with("clCreateCommandQueue")) {
    queues_[call.created.front().number].out_of_order = is_out_of_order(call);
  }
}

void ReplayWaits::enqueued(const Call& call) {
  if (open_.empty()) return;
  Queue& queue = queues_[object_at(call, 0).number];
  UserEvents waits = still_open(queue.barrier);
  add(waits, of_list(call));
  const bool has_list =
      std::any_of(call.arguments.begin(), call.arguments.end(), [](const Value& value) {
        return value.type == Value::Type::kObjects && !value.objects.empty();
      });
  const bool barrier =
      call.name.starts_with("clEnqueueBarrier") || call.name == "clEnqueueWaitForEvents";
  const bool marker = call.name.starts_with("clEnqueueMarker");
  if (!queue.out_of_order || ((barrier || marker) && !has_list)) {
    add(waits, still_open(queue.all));
  }
  if (waits.empty()) return;
  add(queue.all, waits);
  if (barrier) add(queue.barrier, waits);
  of_command_[call.begin] = waits;
  if (!call.created.empty()) of_event_[call.created.front().number] = std::move(waits);
}

ReplayWaits::UserEvents ReplayWaits::of_command(uint64_t begin) const {
  const auto found = of_command_.find(begin);
  return found != of_command_.end() ? still_open(found->second) : UserEvents();
}

ReplayWaits::UserEvents ReplayWaits::of_wait(const Call& call) const {
  if (call.name != "clFinish") return of_list(call);
  const auto queue = queues_.find(object_at(call, 0).number);
  return queue != queues_.end() ? still_open(queue->second.all) : UserEvents();
}

}  // namespace tutti::tools
