// SPDX-License-Identifier: Apache-2.0
// How far a vendor's clock is from ours (base/clock.h). One estimate for all commands of a
// device, so that their times keep the order that the vendor saw. Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "backends/api/backend.h"
#include "base/thread_annotations.h"

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

/// Vendors' clocks run faster or slower than ours by some millionths, so the estimate moves, slowly
/// and without a jump where it can: of two times of the vendor's the later one stays the later.
class VendorClock {
 public:
  /// What to add to the vendor's times of a command, in nanoseconds. Its `queued` was between
  /// `before` and `after` of ours, and mostly soon after `before`.
  int64_t offset(uint64_t queued, uint64_t before, uint64_t after) {
    const auto least = static_cast<int64_t>(before - queued);
    const auto most = static_cast<int64_t>(after - queued);
    MutexLock lock(mutex_);
    if (commands_ == 0) lines_.front() = {queued, least, 0};
    ++commands_;
    Line& line = line_of(queued);
    const int64_t known = line.at(queued);
    // Later ones agree with this one as far as they can.
    const int64_t better = std::clamp(known, least, most);
    line.offset += better - known;
    nearest_ = std::min(nearest_, better - least);
    if (commands_ > kFewest && queued > lines_.front().begin + kWindow) turn(queued);
    return better;
  }

 private:
  /// From a time of the vendor's on: the offset there, and what it changes by per nanosecond.
  struct Line {
    uint64_t begin = 0;
    int64_t offset = 0;
    double slope = 0;
    int64_t at(uint64_t time) const {
      const auto since = static_cast<double>(static_cast<int64_t>(time - begin));
      return offset + static_cast<int64_t>(slope * since);
    }
  };
  static constexpr uint64_t kWindow = 50'000'000;  // nanoseconds
  static constexpr uint32_t kFewest = 8;           // commands that tell something

  Line& line_of(uint64_t time) TUTTI_REQUIRES(mutex_) {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const Line& line) { return line.begin <= time; });
    return found == lines_.end() ? lines_.front() : *found;
  }
  /// By as much as even the best command of this window was off, the next one comes down.
  void turn(uint64_t now) TUTTI_REQUIRES(mutex_) {
    const Line& last = lines_.front();
    const Line next{now, last.at(now),
                    -static_cast<double>(nearest_) / static_cast<double>(now - last.begin)};
    std::copy_backward(lines_.begin(), lines_.end() - 1, lines_.end());
    lines_.front() = next;
    commands_ = 1;
    nearest_ = std::numeric_limits<int64_t>::max();
  }

  Mutex mutex_;  // a leaf
  // The newest first. Those that are not used yet begin later than any time.
  std::array<Line, 4> lines_ TUTTI_GUARDED_BY(mutex_) = {Line{UINT64_MAX}, Line{UINT64_MAX},
                                                         Line{UINT64_MAX}, Line{UINT64_MAX}};
  uint32_t commands_ TUTTI_GUARDED_BY(mutex_) = 0;  // of this window
  // How far above `least` the estimate was at least, in this window.
  int64_t nearest_ TUTTI_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max();
};

}  // namespace tutti::scheduler
