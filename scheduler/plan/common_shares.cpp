// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/common_shares.h"

#include <algorithm>
#include <numeric>

namespace tutti::scheduler {
namespace {

constexpr size_t kMostKernels = 1024;  // of one group: a program that has more begins anew

/// So many slices in these parts, each device at least one.
std::vector<uint64_t> divided(uint64_t slices, std::span<const double> parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<uint64_t> result;
  double end = 0;
  uint64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    end += parts[i];
    const uint64_t after = parts.size() - 1 - i;  // that want one, too
    const auto wanted = static_cast<uint64_t>(end / sum * static_cast<double>(slices) + 0.5);
    const uint64_t next = after == 0 ? slices : std::clamp(wanted, begin + 1, slices - after);
    result.push_back(next - begin);
    begin = next;
  }
  return result;
}

}  // namespace

std::vector<uint64_t> CommonShares::divide_anew(const Launch& launch) {
  const uint64_t slices =
      std::accumulate(launch.fitting.begin(), launch.fitting.end(), uint64_t{0});
  if (slices < launch.devices.size()) return {};
  const MutexLock lock(mutex_);
  Group& group = groups_[{launch.devices.begin(), launch.devices.end()}];
  if (group.to_divide.erase(launch.key) > 0) return divided(slices, group.parts);
  if (group.moving.size() >= kMostKernels) group = {};
  group.foregone += std::max(0.0, launch.gain);
  group.moving[launch.key] = launch.moving;
  group.fitting.resize(launch.devices.size());
  for (size_t i = 0; i < launch.fitting.size(); ++i) {
    group.fitting[i] +=
        launch.seconds * static_cast<double>(launch.fitting[i]) / static_cast<double>(slices);
  }
  double moving = 0;
  for (const auto& [key, seconds] : group.moving) moving += seconds;
  if (group.foregone < moving) return {};
  group.to_divide.clear();
  for (const auto& [key, seconds] : group.moving) {
    if (key != launch.key) group.to_divide.insert(key);
  }
  group.parts = std::move(group.fitting);
  group.foregone = 0;
  group.moving.clear();
  group.fitting.clear();
  return divided(slices, group.parts);
}

}  // namespace tutti::scheduler
