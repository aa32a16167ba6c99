// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/launch_ahead.h"

#include <algorithm>
#include <cstring>

#include "backends/opencl/opencl_objects.h"
#include "platform/clock.h"
#include "platform/log.h"

namespace tutti::backends {

void BurstMeter::step(uint64_t now_ns) {
  const uint64_t before = std::exchange(last_ns_, now_ns);
  if (before == 0 || run_.load(std::memory_order_relaxed) <= kStep) return;
  const uint64_t each = (now_ns - before) / kStep;
  const uint64_t call = call_ns_.load(std::memory_order_relaxed);
  // What a launch costs beside the call, which is part of it as long as the caller makes it.
  const uint64_t beside = worth_it_ ? each : each - std::min(each, call);
  worth_it_ = call >= kWorthAThread && beside < (worth_it_ ? call * 5 / 4 : call);
}

void BurstMeter::call_took(uint64_t ns) {
  const uint64_t known = call_ns_.load(std::memory_order_relaxed);
  call_ns_.store(known == 0 ? ns : (3 * known + ns) / 4, std::memory_order_relaxed);
}

LaunchAhead::LaunchAhead(const VendorDevice& device, cl_command_queue queue)
    : device_(device),
      queue_(queue),
      possible_(device.ahead != nullptr && !device.enqueuing &&
                device.launch_ahead != LaunchAheadChoice::kNever &&
                device.cl->clEnqueueMarkerWithWaitList != nullptr) {}

LaunchAhead::Kind LaunchAhead::kind_of(const Launch& launch) {
  Kind kind{static_cast<const OpenClKernel*>(launch.kernel)->number(), launch.local, 0};
  for (const Argument& argument : launch.arguments) kind.local_bytes += argument.local_size;
  return kind;
}

LaunchAhead::Answer LaunchAhead::take(const Launch& launch, const std::shared_ptr<void>& keep) {
  if (!possible_) return {};
  Answer answer;
  MutexLock lock(mutex_);
  answer.measured = meter_.count();
  if (answer.measured) meter_.step(now_ns());
  const bool always = device_.launch_ahead == LaunchAheadChoice::kAlways;
  if (!always && !meter_.worth_it()) return answer;
  if (std::find(known_.begin(), known_.end(), kind_of(launch)) == known_.end()) return answer;
  const bool had_room = handover_.push(
      *device_.ahead, keep, [&](Pending& pending) { copy(launch, answer.measured, pending); },
      [this](const Pending& pending) { make(pending); });
  if (!had_room) meter_.skip();
  answer.taken = true;
  return answer;
}

void LaunchAhead::copy(const Launch& launch, bool measured, Pending& to) {
  to.launch = launch;
  to.measured = measured;
  to.arguments.assign(launch.arguments.begin(), launch.arguments.end());
  size_t bytes = 0;
  for (const Argument& argument : to.arguments) bytes += argument.bytes.size();
  to.bytes.resize(bytes);
  std::byte* at = to.bytes.data();
  for (Argument& argument : to.arguments) {
    if (argument.bytes.empty()) continue;
    std::memcpy(at, argument.bytes.data(), argument.bytes.size());
    argument.bytes = {at, argument.bytes.size()};
    at += argument.bytes.size();
  }
  to.launch.arguments = to.arguments;
}

void LaunchAhead::make(const Pending& pending) {
  if (vendors_gone()) {
    failure_.store(CL_OUT_OF_RESOURCES, std::memory_order_release);
    return;
  }
  const uint64_t begin = pending.measured ? now_ns() : 0;
  const Status status = enqueue_launch(device_, queue_, pending.launch, 0, nullptr, nullptr);
  if (pending.measured) meter_.call_took(now_ns() - begin);
  if (status) return;
  log(LogLevel::kWarning, "{}", status.error().message);
  failure_.store(status.error().code, std::memory_order_release);
}

void LaunchAhead::accepted(const Launch& launch, uint64_t ns) {
  if (!possible_) return;
  if (ns != 0) meter_.call_took(ns);
  const Kind kind = kind_of(launch);
  MutexLock lock(mutex_);
  if (std::find(known_.begin(), known_.end(), kind) != known_.end()) return;
  known_[next_known_++ % known_.size()] = kind;
}

void LaunchAhead::catch_up() {
  handover_.drain([this](const Pending& pending) { make(pending); });
}

Status enqueue_launch(const VendorDevice& device, cl_command_queue queue, const Launch& launch,
                      cl_uint wait_count, const cl_event* wait, cl_event* event) {
  auto& kernel = static_cast<OpenClKernel&>(*launch.kernel);
  const auto& offset = launch.offset;
  // OpenCL 1.0 takes no offset but NULL.
  const bool shifted = (offset[0] | offset[1] | offset[2]) != 0;
  MutexLock lock(kernel.mutex());
  TUTTI_TRY(kernel.set_arguments(launch.arguments));
  const cl_int code = device.cl->clEnqueueNDRangeKernel(
      queue, kernel.handle(), launch.dims, shifted ? offset.data() : nullptr, launch.global.data(),
      launch.local ? launch.local->data() : nullptr, wait_count, wait, event);
  if (code != CL_SUCCESS) return device.failure("clEnqueueNDRangeKernel", code);
  return {};
}

}  // namespace tutti::backends
