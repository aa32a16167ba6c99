// SPDX-License-Identifier: Apache-2.0
// What the planner remembers of a kernel's launches of one size. Where the devices' shares met, so
// that iterative programs find their data where they left it; and for how long splitting was not
// tried, so that a decision made on bad luck does not stand for ever. Thread-safe: one lock, short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "platform/thread_annotations.h"

namespace tutti::scheduler {

class Boundaries {
 public:
  /// A split was priced at `split` seconds and found dearer than the whole launch of `whole`
  /// seconds. True when it shall be tried all the same: so much time has gone by since the last one
  /// that the attempt costs next to nothing of it (Kicherer's thesis, 6.4.1).
  bool try_again(uint64_t kernel, uint64_t slices, double whole, double split) {
    MutexLock lock(mutex_);
    double& ignored = entry(kernel, slices).ignored;
    ignored += whole;
    if (split > kTrialShare * ignored) return false;
    ignored = 0;
    return true;
  }
  /// Slices that each of the `devices` computed at the last launch of as many slices; empty where
  /// there is none, or by other devices.
  std::vector<uint64_t> shares(uint64_t kernel, uint64_t slices,
                               std::span<const uint32_t> devices) const {
    MutexLock lock(mutex_);
    const auto found = last_.find(key(kernel, slices));
    if (found == last_.end() ||
        !std::equal(devices.begin(), devices.end(), found->second.devices.begin(),
                    found->second.devices.end())) {
      return {};
    }
    return found->second.shares;
  }
  void remember(uint64_t kernel, uint64_t slices, std::span<const uint32_t> devices,
                std::vector<uint64_t> shares) {
    MutexLock lock(mutex_);
    entry(kernel, slices) = {{devices.begin(), devices.end()}, std::move(shares), 0};
  }

 private:
  struct Last {
    std::vector<uint32_t> devices;
    std::vector<uint64_t> shares;
    double ignored = 0;  // seconds of whole launches since the last split
  };
  static constexpr size_t kMost = 4096;
  static constexpr double kTrialShare = 0.01;
  static uint64_t key(uint64_t kernel, uint64_t slices) {
    return kernel ^ slices * 0x9E3779B97F4A7C15ull;
  }

  Last& entry(uint64_t kernel, uint64_t slices) TUTTI_REQUIRES(mutex_) {
    if (last_.size() >= kMost) last_.clear();
    return last_[key(kernel, slices)];
  }

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Last> last_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
