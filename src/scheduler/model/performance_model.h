// SPDX-License-Identifier: Apache-2.0
// What is known of each kernel's speed on each device, from the launches and packages of this
// process. Pure logic, no OpenCL. Thread-safe: one lock, short.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "platform/thread_annotations.h"

namespace tutti::scheduler {

class PerformanceModel {
 public:
  /// `items` work-items took `seconds` on `device`.
  void add(uint64_t kernel, uint32_t device, uint64_t items, double seconds);
  /// Mean speed of the last three samples, work-items per second; absent before the first.
  std::optional<double> speed(uint64_t kernel, uint32_t device) const;
  /// Does a further sample tell something new? Whoever is told true is to add one. False once three
  /// are there or expected, except now and then.
  bool wants_sample(uint64_t kernel, uint32_t device);

 private:
  struct Key {
    uint64_t kernel;
    uint32_t device;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(key.kernel * 0x9E3779B97F4A7C15ull + key.device);
    }
  };
  struct History {
    std::array<double, 3> speeds{};
    uint32_t samples = 0;   // ever
    uint32_t expected = 0;  // that wants_sample asked for and that have not come (some never do)
    uint32_t asked = 0;     // wants_sample calls since it last asked for one
  };

  mutable Mutex mutex_;
  std::unordered_map<Key, History, Hash> histories_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
