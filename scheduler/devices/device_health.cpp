// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/device_health.h"

#include <algorithm>
#include <bit>

#include "base/guarded.h"
#include "base/log.h"
#include "base/process_exit.h"

namespace tutti::scheduler {
namespace {

constexpr uint32_t kInARow = 3;         // failures: then the device is tried
constexpr uint32_t kTrustedAfter = 64;  // successes after a failure
constexpr uint64_t kFirstInterval = 1'000'000'000;
constexpr uint64_t kLongestInterval = 300'000'000'000;

/// Not what names the application's own fault, a lack of memory, or the fault of what came before.
bool blames_device(cl_int code) {
  return code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && code != CL_INVALID_KERNEL_ARGS &&
         code != CL_MEM_OBJECT_ALLOCATION_FAILURE && code != CL_OUT_OF_HOST_MEMORY &&
         code != CL_BUILD_PROGRAM_FAILURE && code != CL_COMPILE_PROGRAM_FAILURE &&
         code != CL_LINK_PROGRAM_FAILURE;
}

}  // namespace

BackendMask DeviceHealth::without(BackendMask asked, BackendMask lost) {
  const uint64_t now = clock_();
  for (BackendMask left = lost & asked; left != 0; left &= left - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(left));
    std::atomic<uint64_t>& due = devices_[backend].next_trial_ns;
    uint64_t at = due.load(std::memory_order_relaxed);
    // One thread sees to it.
    if (now < at || !due.compare_exchange_strong(at, UINT64_MAX)) continue;
    if (hooks_.due) hooks_.due(backend);
  }
  return (asked & ~lost) != 0 ? asked & ~lost : asked;
}

void DeviceHealth::calm(uint32_t backend) {
  Device& device = devices_[backend];
  device.failures.store(0, std::memory_order_relaxed);
  uint32_t left = device.suspicion.load(std::memory_order_relaxed);
  if (left == 0 || !device.suspicion.compare_exchange_strong(left, left - 1)) return;
  if (left > 1) return;
  const bool any = std::any_of(devices_.begin(), devices_.end(), [](const Device& one) {
    return one.suspicion.load(std::memory_order_relaxed) > 0;
  });
  any_suspect_.store(any, std::memory_order_relaxed);
}

void DeviceHealth::note_failure(uint32_t backend, const Error& why) {
  if (alone_ || !blames_device(why.code) || vendors_gone()) return;
  Device& device = devices_[backend];
  device.all.fetch_add(1, std::memory_order_relaxed);
  device.suspicion.store(kTrustedAfter, std::memory_order_relaxed);
  any_suspect_.store(true, std::memory_order_relaxed);
  const uint32_t failures = device.failures.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((failures % kInARow != 0 && why.code != CL_DEVICE_NOT_AVAILABLE) ||
      (lost() & backend_bit(backend)) != 0) {
    return;
  }
  if (!works(backend)) lose(backend, why);
}

bool DeviceHealth::works(uint32_t backend) const {
  Status tried;
  const Status passed = guarded([&] { tried = trial_(backend); });
  return passed && tried;
}

void DeviceHealth::lose(uint32_t backend, const Error& why) {
  Device& device = devices_[backend];
  {
    MutexLock lock(mutex_);
    if ((lost() & backend_bit(backend)) != 0) return;
    device.interval_ns = kFirstInterval;
    device.next_trial_ns.store(clock_() + device.interval_ns, std::memory_order_relaxed);
    lost_.fetch_or(backend_bit(backend), std::memory_order_acq_rel);
  }
  log(LogLevel::kWarning,
      "{} is lost ({}): it takes no part until it works again, and content that lies there alone "
      "has failed",
      device.name, why.message);
  if (hooks_.lost) hooks_.lost(backend, why);
}

void DeviceHealth::retry(uint32_t backend) {
  Device& device = devices_[backend];
  const bool works_again = works(backend);
  MutexLock lock(mutex_);
  if (works_again) {
    device.failures.store(0, std::memory_order_relaxed);
    lost_.fetch_and(~backend_bit(backend), std::memory_order_acq_rel);
    lock.unlock();
    log(LogLevel::kWarning, "{} works again, and takes part", device.name);
    return;
  }
  device.interval_ns = std::min(2 * device.interval_ns, kLongestInterval);
  device.next_trial_ns.store(clock_() + device.interval_ns, std::memory_order_relaxed);
}

Status try_device(backends::Backend& device) {
  constexpr std::array<uint64_t, 8> kSent{1, 2, 3, 5, 8, 13, 21, 34};
  std::array<uint64_t, 8> received{};
  TUTTI_ASSIGN(const auto queue, device.create_queue({}));
  TUTTI_ASSIGN(const auto memory, device.allocate(sizeof kSent, nullptr));
  TUTTI_TRY(queue->write_blocking(*memory, 0, sizeof kSent, kSent.data()));
  TUTTI_TRY(queue->read_blocking(*memory, 0, sizeof kSent, received.data()));
  TUTTI_TRY(queue->finish());
  if (received != kSent) return fail(CL_OUT_OF_RESOURCES, "other bytes came back than were sent");
  return {};
}

}  // namespace tutti::scheduler
