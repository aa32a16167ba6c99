// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/thinned_counter.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

constexpr uint64_t kSteps = 256;  // of the highest value: less cannot be seen in a picture

}  // namespace

std::optional<ThinnedCounter::Point> ThinnedCounter::changed(uint64_t time_ns, uint64_t value) {
  if (value == last_.value) return std::nullopt;
  last_ = {time_ns, value};
  const bool highest = value > highest_.value;
  if (highest) highest_ = last_;
  const uint64_t step = std::max<uint64_t>(1, highest_.value / kSteps);
  const bool tell = std::max(value, told_.value) - std::min(value, told_.value) >= step;
  if (highest) highest_told_ = tell;
  if (!tell) return std::nullopt;
  told_ = last_;
  return last_;
}

std::vector<ThinnedCounter::Point> ThinnedCounter::rest() {
  std::vector<Point> points;
  if (!highest_told_) points.push_back(highest_);
  if (last_ != told_ && (points.empty() || last_ != highest_)) points.push_back(last_);
  highest_told_ = true;
  told_ = last_;
  return points;
}

}  // namespace tutti::scheduler
