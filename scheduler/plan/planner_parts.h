// SPDX-License-Identifier: Apache-2.0
// What the planner's files share. Pure functions and constants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

// A split is chosen when it is expected to take at most this part of the best device's time.
inline constexpr double kWorthSplitting = 0.97;

inline bool is_gpu(const backends::DeviceTraits& traits) {
  return (traits.type & CL_DEVICE_TYPE_GPU) != 0 && !traits.shares_host_memory;
}

/// What a whole launch touches, where that is known; else null.
inline const LaunchAccess* exact_access(const KernelPlan& plan) {
  return plan.exact ? plan.access.get() : nullptr;
}

/// What is known of the kernel's launches of this shape with these arguments: evaluated once.
std::shared_ptr<const LaunchAccess> evaluated(const KernelWork& work, const LaunchShape& shape,
                                              const SplitPolicy& policy);

/// Those with a share stay.
void keep_participants(KernelPlan& plan, std::span<const uint64_t> shares);

/// Where the device of the whole launch stands among the participants.
inline size_t whole_index(const KernelPlan& plan) {
  const auto found = std::find(plan.participants.begin(), plan.participants.end(), plan.backend);
  return static_cast<size_t>(found - plan.participants.begin());
}

}  // namespace tutti::scheduler
