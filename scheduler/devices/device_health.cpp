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
// Where the application does not feel a trial, and a process that ended may say nothing of the
// device: nodes come back.
constexpr uint64_t kLongestOfProcess = 8'000'000'000;

/// Not what names the application's own fault, a lack of memory, or the fault of what came before.
bool blames_device(cl_int code) {
  return code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && code != CL_INVALID_KERNEL_ARGS &&
         code != CL_MEM_OBJECT_ALLOCATION_FAILURE && code != CL_OUT_OF_HOST_MEMORY &&
         code != CL_BUILD_PROGRAM_FAILURE && code != CL_COMPILE_PROGRAM_FAILURE &&
         code != CL_LINK_PROGRAM_FAILURE;
}

}  // namespace

BackendMask DeviceHealth::without(BackendMask asked, BackendMask lost, BackendMask late) {
  const uint64_t now = clock_();
  for (BackendMask left = lost & asked; left != 0; left &= left - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(left));
    std::atomic<uint64_t>& due = devices_[backend].next_trial_ns;
    uint64_t at = due.load(std::memory_order_relaxed);
    // One thread sees to it.
    if (now < at || !due.compare_exchange_strong(at, UINT64_MAX)) continue;
    if (hooks_.due) hooks_.due(backend);
  }
  const BackendMask well = asked & ~lost;
  if ((well & ~late) != 0) return well & ~late;
  return well != 0 ? well : asked;
}

void DeviceHealth::begin_late(uint32_t backend) {
  MutexLock lock(mutex_);
  Device& device = devices_[backend];
  ++device.late;
  suspect_it(device);
  late_.fetch_or(backend_bit(backend), std::memory_order_acq_rel);
}

void DeviceHealth::end_late(uint32_t backend) {
  MutexLock lock(mutex_);
  if (--devices_[backend].late > 0) return;
  late_.fetch_and(~backend_bit(backend), std::memory_order_acq_rel);
}

uint32_t DeviceHealth::late_packages(uint32_t backend) const {
  MutexLock lock(mutex_);
  return devices_[backend].late;
}

void DeviceHealth::suspect_it(Device& device) {
  device.suspicion.store(kTrustedAfter, std::memory_order_relaxed);
  any_suspect_.store(true, std::memory_order_relaxed);
}

void DeviceHealth::calm(uint32_t backend) {
  Device& device = devices_[backend];
  device.failures.store(0, std::memory_order_relaxed);
  uint32_t left = device.suspicion.load(std::memory_order_relaxed);
  if (left == 0 || !device.suspicion.compare_exchange_strong(left, left - 1)) return;
  if (left > 1) return;
  device.interval_ns.store(0, std::memory_order_relaxed);  // it is trusted
  const bool any = std::any_of(devices_.begin(), devices_.end(), [](const Device& one) {
    return one.suspicion.load(std::memory_order_relaxed) > 0;
  });
  any_suspect_.store(any, std::memory_order_relaxed);
}

void DeviceHealth::note_failure(uint32_t backend, const Error& why) {
  if (alone_ || !blames_device(why.code) || vendors_gone()) return;
  Device& device = devices_[backend];
  device.all.fetch_add(1, std::memory_order_relaxed);
  suspect_it(device);
  const uint32_t failures = device.failures.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((failures % kInARow != 0 && why.code != CL_DEVICE_NOT_AVAILABLE) ||
      (lost() & backend_bit(backend)) != 0) {
    return;
  }
  if (!works(backend, false)) lose(backend, why);
}

bool DeviceHealth::confirm(uint32_t backend, const Error& why) {
  if (alone_ || !blames_device(why.code) || vendors_gone()) return true;
  if ((lost() & backend_bit(backend)) != 0) return false;
  if (works(backend, false)) return true;
  lose(backend, why);
  return false;
}

bool DeviceHealth::works(uint32_t backend, bool anew) const {
  Status tried;
  if (const Status passed = guarded([&] { tried = trial_(backend, anew); }); !passed) {
    tried = passed;
  }
  if (tried) return true;
  log(LogLevel::kInfo, "{} was tried and does not work: {}", devices_[backend].name,
      tried.error().message);
  return false;
}

bool DeviceHealth::note_lost(uint32_t backend) {
  Device& device = devices_[backend];
  MutexLock lock(mutex_);
  if ((lost() & backend_bit(backend)) != 0) return false;
  ++device.losses;
  device.lost_at_ns = clock_();
  wait_longer(device);
  lost_.fetch_or(backend_bit(backend), std::memory_order_acq_rel);
  return true;
}

void DeviceHealth::begin_lost(uint32_t backend) { static_cast<void>(note_lost(backend)); }

void DeviceHealth::lose(uint32_t backend, const Error& why) {
  Device& device = devices_[backend];
  if (!note_lost(backend)) return;
  log(LogLevel::kWarning,
      "{} is lost ({}): it takes no part until it works again, and content that lies there alone "
      "has failed",
      device.name, why.message);
  if (hooks_.lost) hooks_.lost(backend, why);
}

void DeviceHealth::wait_longer(Device& device) {
  const uint64_t before = device.interval_ns.load(std::memory_order_relaxed);
  const uint64_t longest = device.own_process ? kLongestOfProcess : kLongestInterval;
  const uint64_t interval = before == 0 ? kFirstInterval : std::min(2 * before, longest);
  device.interval_ns.store(interval, std::memory_order_relaxed);
  device.next_trial_ns.store(clock_() + interval, std::memory_order_relaxed);
}

void DeviceHealth::retry(uint32_t backend) {
  Device& device = devices_[backend];
  bool anew = false;
  {
    MutexLock lock(mutex_);
    anew = !device.renewed;
  }
  const bool well = works(backend, anew);
  {
    MutexLock lock(mutex_);
    device.renewed = well;
    if (!well) return wait_longer(device);
  }
  if (hooks_.renewed) {
    hooks_.renewed(backend);
  } else {
    ready(backend, true);
  }
}

void DeviceHealth::ready(uint32_t backend, bool all_free) {
  Device& device = devices_[backend];
  MutexLock lock(mutex_);
  const uint64_t now = clock_();
  if (!all_free) {
    device.next_trial_ns.store(now + kFirstInterval, std::memory_order_relaxed);
    return;
  }
  const uint64_t since = device.lost_at_ns;
  device.lost_for_ns += now - since;
  device.renewed = false;
  device.failures.store(0, std::memory_order_relaxed);
  lost_.fetch_and(~backend_bit(backend), std::memory_order_acq_rel);
  lock.unlock();
  log(LogLevel::kWarning, "{} works again after {:.1f} s, and takes part", device.name,
      seconds_between(since, now));
  if (hooks_.back) hooks_.back(backend, since, now);
}

DeviceHealth::Losses DeviceHealth::losses(uint32_t backend) const {
  const Device& device = devices_[backend];
  MutexLock lock(mutex_);
  const bool now = (lost() & backend_bit(backend)) != 0;
  return {device.losses, device.lost_for_ns + (now ? clock_() - device.lost_at_ns : 0), now,
          device.all_late.load(std::memory_order_relaxed)};
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
