// SPDX-License-Identifier: Apache-2.0
// What the planner remembers of a kernel's launches of one size. Where the devices' shares met, so
// that iterative programs find their data where they left it; and for how long splitting was not
// tried, so that a decision made on bad luck does not stand for ever. Thread-safe: one lock, short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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
  bool try_again(uint64_t kernel, uint64_t items, double whole, double split) {
    MutexLock lock(mutex_);
    double& ignored = entry(kernel, items).ignored;
    ignored += whole;
    if (split > kTrialShare * ignored) return false;
    ignored = 0;
    return true;
  }
  /// Slices that each of the `devices` computed at the last split launch of as many work-items;
  /// empty where there is none, or by other devices.
  std::vector<uint64_t> shares(uint64_t kernel, uint64_t items,
                               std::span<const uint32_t> devices) const {
    MutexLock lock(mutex_);
    const auto found = last_.find(key(kernel, items));
    if (found == last_.end() ||
        !std::equal(devices.begin(), devices.end(), found->second.devices.begin(),
                    found->second.devices.end())) {
      return {};
    }
    return found->second.shares;
  }
  /// `surplus`: seconds that the split took beyond what its shares were priced at.
  void remember(uint64_t kernel, uint64_t items, std::span<const uint32_t> devices,
                std::vector<uint64_t> shares, double surplus) {
    MutexLock lock(mutex_);
    Last& last = entry(kernel, items);
    last.devices.assign(devices.begin(), devices.end());
    last.shares = std::move(shares);
    last.ignored = 0;
    last.surplus[1] = last.surplus[0];
    last.surplus[0] = surplus;
    last.splits = std::min<uint32_t>(last.splits + 1, 2);
  }
  /// A whole launch took `seconds` on `device`.
  void remember_whole(uint64_t kernel, uint64_t items, uint32_t device, double seconds) {
    MutexLock lock(mutex_);
    // Only beside splits: of all others the performance model tells enough.
    const auto found = last_.find(key(kernel, items));
    if (found == last_.end()) return;
    double& known = found->second.whole[device];
    known = known > 0 ? (known + seconds) / 2 : seconds;
  }
  /// Seconds of whole launches on `device` between splits; 0: none yet.
  double whole(uint64_t kernel, uint64_t items, uint32_t device) const {
    MutexLock lock(mutex_);
    const auto found = last_.find(key(kernel, items));
    if (found == last_.end()) return 0;
    const auto known = found->second.whole.find(device);
    return known != found->second.whole.end() ? known->second : 0;
  }
  /// The last split launches are known, two of them at least.
  bool settled(uint64_t kernel, uint64_t items) const {
    MutexLock lock(mutex_);
    const auto found = last_.find(key(kernel, items));
    return found != last_.end() && found->second.splits >= 2;
  }
  /// The smaller surplus of the last two splits, since one may be an accident; `otherwise` before
  /// there were two.
  double surplus(uint64_t kernel, uint64_t items, double otherwise) const {
    MutexLock lock(mutex_);
    const auto found = last_.find(key(kernel, items));
    if (found == last_.end() || found->second.splits < 2) return otherwise;
    return std::min(found->second.surplus[0], found->second.surplus[1]);
  }

 private:
  struct Last {
    std::vector<uint32_t> devices;
    std::vector<uint64_t> shares;
    double ignored = 0;                // seconds of whole launches since the last split
    double surplus[2] = {0, 0};        // of the last two splits
    uint32_t splits = 0;               // two or more: 2
    std::map<uint32_t, double> whole;  // by device
  };
  static constexpr size_t kMost = 4096;
  static constexpr double kTrialShare = 0.01;
  static uint64_t key(uint64_t kernel, uint64_t items) {
    return kernel ^ items * 0x9E3779B97F4A7C15ull;
  }

  Last& entry(uint64_t kernel, uint64_t items) TUTTI_REQUIRES(mutex_) {
    if (last_.size() >= kMost) last_.clear();
    return last_[key(kernel, items)];
  }

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Last> last_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
