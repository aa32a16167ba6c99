// SPDX-License-Identifier: Apache-2.0
// Which values of a counter are told, so that one that changes often makes few points: those that
// differ from the last one told by a 256th of the highest value so far; at last the highest and the
// last one, which so are exact. Pure logic, not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tutti::scheduler {

class ThinnedCounter {
 public:
  struct Point {
    uint64_t time_ns = 0, value = 0;
    bool operator==(const Point&) const = default;
  };
  /// The counter has that value from `time_ns` on, which is no earlier than at the last call.
  /// Returns what is to be told now.
  std::optional<Point> changed(uint64_t time_ns, uint64_t value);
  /// What has not been told and should be, in the order of time; from then on it has been.
  std::vector<Point> rest();

 private:
  Point told_, highest_, last_;
  bool highest_told_ = true;
};

}  // namespace tutti::scheduler
