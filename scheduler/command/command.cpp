// SPDX-License-Identifier: Apache-2.0
#include "scheduler/command/command.h"

#include <algorithm>

#include "base/clock.h"
#include "scheduler/command/stream.h"

namespace tutti::scheduler {

Command::Command(CommandOwner& owner, cl_command_type type, Work work)
    : owner_(owner), type_(type), work_(std::move(work)) {
  queued_.store(now_ns(), std::memory_order_relaxed);
}

Command::~Command() = default;

cl_int Command::status() {
  const cl_int known = status_.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE) return known;
  if (overtook_) {
    for (const auto& before : owner_.overtaken(*this)) before->poll();
  }
  return poll();
}

cl_int Command::poll() {
  const cl_int known = status_.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE || !direct_.load(std::memory_order_acquire)) return known;
  const auto completion = owner_.completion_of(*this);
  if (!completion) return known;  // a launch is joining it
  const cl_int vendor = completion->poll();
  // Not yet begun on the vendor's side, but out of our hands: submitted at least.
  if (vendor > CL_COMPLETE) return overtook_ ? known : std::min<cl_int>(vendor, CL_SUBMITTED);
  owner_.finish_direct(Ref<Command>(this), vendor);
  return status_.load(std::memory_order_acquire);
}

void Command::read_vendor_times() {
  if (ended_.load(std::memory_order_acquire) != 0 || !direct_.load(std::memory_order_acquire)) {
    return;
  }
  // The vendor's clock has an origin of its own: its QUEUED lies between our submission and now.
  const uint64_t base = submitted_.load(std::memory_order_relaxed);
  const auto times = completion_->times();
  const uint64_t now = now_ns();
  uint64_t start = base, end = now;
  if (times && times->started >= times->queued && times->ended >= times->started) {
    const auto offset =
        static_cast<uint64_t>(owner_.clock(backend_).offset(times->queued, base, now));
    start = std::clamp(times->started + offset, base, now);
    end = std::clamp(times->ended + offset, start, now);
  }
  started_.store(start, std::memory_order_relaxed);
  ended_.store(end, std::memory_order_release);
}

CommandTimes Command::times() {
  if (status() <= CL_COMPLETE) read_vendor_times();
  CommandTimes times;
  times.ended = ended_.load(std::memory_order_acquire);
  times.queued = queued_.load(std::memory_order_relaxed);
  times.submitted = submitted_.load(std::memory_order_relaxed);
  times.started = started_.load(std::memory_order_relaxed);
  return times;
}

void Command::add_callback(cl_int type, Callback callback) {
  status();  // a direct command that has ended calls back at once
  owner_.add_callback(Ref<Command>(this), type, std::move(callback));
}

}  // namespace tutti::scheduler
