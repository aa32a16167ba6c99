// SPDX-License-Identifier: Apache-2.0
// How far a vendor's clock is from ours (platform/clock.h). One estimate for all commands of a
// device, so that their times keep the order that the vendor saw. Thread-safe, lock-free.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "backends/api/backend.h"

namespace tutti::scheduler {

/// Begin and end on our clock of a command that was handed to the vendor at `launched` and known to
/// have ended at `ended`, where the vendor has measured. That knows neither the wait in its queue
/// nor how late we asked; its QUEUED is our launch.
inline std::optional<std::pair<uint64_t, uint64_t>> measured_interval(
    const std::optional<backends::VendorTimes>& times, uint64_t launched, uint64_t ended) {
  if (!times || times->queued > times->started || times->started >= times->ended) return {};
  const uint64_t end = std::min(ended, launched + (times->ended - times->queued));
  return std::pair(std::min(end, launched + (times->started - times->queued)), end);
}

class VendorClock {
 public:
  /// What to add to the vendor's times, in nanoseconds. The vendor's `queued` was between `before`
  /// and `after` of ours: the estimate of earlier commands is kept while it agrees with that.
  int64_t offset(uint64_t queued, uint64_t before, uint64_t after) {
    const auto least = static_cast<int64_t>(before - queued);
    const auto most = static_cast<int64_t>(after - queued);
    int64_t known = offset_.load(std::memory_order_relaxed);
    for (;;) {
      const int64_t better = known == kUnknown ? least : std::clamp(known, least, most);
      if (better == known) return known;
      if (offset_.compare_exchange_weak(known, better, std::memory_order_relaxed)) return better;
    }
  }

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();
  std::atomic<int64_t> offset_{kUnknown};
};

}  // namespace tutti::scheduler
