// SPDX-License-Identifier: Apache-2.0
// The one clock of the driver: nanoseconds, steady, one origin for the whole machine
// (CLOCK_MONOTONIC), so that times of several processes can be laid side by side. Thread-safe.
#pragma once

#include <time.h>

#include <cstdint>

namespace tutti {

inline uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// The same as of the last tick of the system (some milliseconds ago at most), for a fifth of what
/// now_ns() costs. The length of something short is 0 or a whole tick, right in the mean over many.
inline uint64_t tick_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// Processor time that the calling thread has taken.
inline uint64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

inline double seconds_between(uint64_t start_ns, uint64_t end_ns) {
  return static_cast<double>(static_cast<int64_t>(end_ns - start_ns)) * 1e-9;
}

}  // namespace tutti
