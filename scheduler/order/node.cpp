// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/node.h"

#include <algorithm>

#include "base/clock.h"
#include "base/memory_reserve.h"
#include "scheduler/order/stream.h"

namespace tutti::scheduler {

Node::Node(NodeOwner& belongs_to, cl_command_type type, Work what)
    : Command(type), owner(belongs_to), work(std::move(what)) {}

Node::~Node() = default;

cl_int Node::status() {
  const cl_int known = shown_status.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE) return known;
  const MemoryReserved reserved;
  if (overtook) {
    for (const auto& before : owner.overtaken(*this)) before->poll();
  }
  return poll();
}

cl_int Node::poll() {
  const cl_int known = shown_status.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE || !direct.load(std::memory_order_acquire)) return known;
  const auto ends_with = owner.completion_of(*this);
  if (!ends_with) return known;  // a launch is joining it
  const cl_int vendor = ends_with->poll();
  // Not yet begun on the vendor's side, but out of our hands: submitted at least.
  if (vendor > CL_COMPLETE) return overtook ? known : std::min<cl_int>(vendor, CL_SUBMITTED);
  owner.finish_direct(Ref<Node>(this), vendor);
  return shown_status.load(std::memory_order_acquire);
}

void Node::read_vendor_times() {
  if (ended.load(std::memory_order_acquire) != 0 || !direct.load(std::memory_order_acquire)) {
    return;
  }
  // The vendor's clock has an origin of its own: its QUEUED lies between our submission and now.
  const uint64_t base = submitted.load(std::memory_order_relaxed);
  const auto times = completion->times();
  const uint64_t now = now_ns();
  uint64_t start = base, end = now;
  if (times && times->started >= times->queued && times->ended >= times->started) {
    const auto offset =
        static_cast<uint64_t>(owner.clock(backend).offset(times->queued, base, now));
    start = std::clamp(times->started + offset, base, now);
    end = std::clamp(times->ended + offset, start, now);
  }
  started.store(start, std::memory_order_relaxed);
  ended.store(end, std::memory_order_release);
}

CommandTimes Node::times() {
  const MemoryReserved reserved;
  if (status() <= CL_COMPLETE) read_vendor_times();
  CommandTimes known;
  known.ended = ended.load(std::memory_order_acquire);
  known.queued = queued.load(std::memory_order_relaxed);
  known.submitted = submitted.load(std::memory_order_relaxed);
  known.started = started.load(std::memory_order_relaxed);
  return known;
}

void Node::add_callback(cl_int type, Callback callback) {
  const MemoryReserved reserved;
  status();  // a direct command that has ended calls back at once
  owner.add_callback(Ref<Node>(this), type, std::move(callback));
}

}  // namespace tutti::scheduler
