// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/performance_model.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {
constexpr uint32_t kRefreshInterval = 64;  // launches between samples of a well-known kernel
}

void PerformanceModel::add(uint64_t kernel, uint32_t device, uint64_t items, double seconds) {
  if (items == 0 || seconds <= 0) return;
  MutexLock lock(mutex_);
  History& history = histories_[{kernel, device}];
  history.speeds[history.samples % history.speeds.size()] = static_cast<double>(items) / seconds;
  ++history.samples;
  if (history.expected > 0) --history.expected;
}

std::optional<double> PerformanceModel::speed(uint64_t kernel, uint32_t device) const {
  MutexLock lock(mutex_);
  const auto found = histories_.find({kernel, device});
  if (found == histories_.end() || found->second.samples == 0) return std::nullopt;
  const History& history = found->second;
  const uint32_t known =
      std::min<uint32_t>(history.samples, static_cast<uint32_t>(history.speeds.size()));
  double sum = 0;
  for (uint32_t i = 0; i < known; ++i) sum += history.speeds[i];
  return sum / known;
}

bool PerformanceModel::wants_sample(uint64_t kernel, uint32_t device) {
  MutexLock lock(mutex_);
  History& history = histories_[{kernel, device}];
  const bool wanted = history.samples + history.expected < history.speeds.size() ||
                      ++history.asked >= kRefreshInterval;
  if (wanted) {
    ++history.expected;
    history.asked = 0;
  }
  return wanted;
}

}  // namespace tutti::scheduler
