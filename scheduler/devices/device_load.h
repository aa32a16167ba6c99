// SPDX-License-Identifier: Apache-2.0
// Until when each device is expected to be busy with what was given to it, so that independent
// launches can be placed where they end earliest: plain arithmetic on expected times, in
// nanoseconds of the process's steady clock. It decides where something runs, never whether it may.
// Thread-safe, without a lock: a lost update makes an expectation worse, nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "scheduler/devices/per_backend.h"

namespace tutti::scheduler {

/// What was expected of a launch that has been given to its devices.
struct Expectation {
  uint64_t devices = 0;  // backends as bits; 0: nothing was expected
  uint64_t end_ns = 0;
};

class DeviceLoad {
 public:
  /// Seconds that the device is still busy at `from_ns`.
  double wait(uint32_t backend, uint64_t from_ns) const {
    return static_cast<double>(begin(backend, from_ns) - from_ns) * 1e-9;
  }
  /// When something that may begin at `from_ns` can begin there.
  uint64_t begin(uint32_t backend, uint64_t from_ns) const {
    return std::max(from_ns, until_[backend].load(std::memory_order_relaxed));
  }
  /// The devices were given a launch that is expected to end then.
  void add(const Expectation& expected) {
    change(expected.devices, [&](uint64_t until) { return std::max(until, expected.end_ns); });
  }
  /// It has ended at `now_ns`: if that is earlier, so will be what follows it on its devices.
  void ended(const Expectation& expected, uint64_t now_ns) {
    if (expected.end_ns <= now_ns) return;
    const uint64_t early = expected.end_ns - now_ns;
    change(expected.devices, [&](uint64_t until) {
      return until > now_ns ? std::max(now_ns, until - std::min(early, until)) : until;
    });
  }

 private:
  template <typename Function>
  void change(uint64_t devices, Function function) {
    for (; devices != 0; devices &= devices - 1) {
      auto& until = until_[static_cast<size_t>(std::countr_zero(devices))];
      uint64_t before = until.load(std::memory_order_relaxed);
      while (!until.compare_exchange_weak(before, function(before), std::memory_order_relaxed)) {
      }
    }
  }

  std::array<std::atomic<uint64_t>, kMostBackends> until_{};
};

}  // namespace tutti::scheduler
