// SPDX-License-Identifier: Apache-2.0
// What a launch would cost, whole or split, from what each device is expected to need: plain
// arithmetic (docs/balancers.md, "Choosing"). Seconds; slices as everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/config.h"
#include "scheduler/model/power_model.h"

namespace tutti::scheduler {

// With nothing known of a kernel, launches of fewer work-items than this are not split.
inline constexpr uint64_t kWorthSplittingItems = 2048;
/// Why not, in words.
inline constexpr char kTooShort[] = "too short to gain from a split";

/// One device's part in a launch: t(x) = fixed + max(x, min_package) · per_slice.
struct DeviceCost {
  double fixed = 0;      // start-up, and transfers that do not depend on its share
  double per_slice = 0;  // > 0: computing, and transfers of its share
  uint64_t min_package = 1;
};

struct SplitPrice {
  double seconds = 0;            // until the last device ends
  std::vector<uint64_t> shares;  // slices per device; 0: it takes no part
};

/// The shares with which all devices that take part end together: Σ x_i(t) = slices with
/// x_i(t) = (t − fixed_i) / per_slice_i. Devices whose fixed cost exceeds t take no part. Those
/// whose share is less than their smallest package need that long all the same; they take part
/// where the launch ends sooner with them.
SplitPrice price_split(std::span<const DeviceCost> devices, uint64_t slices);

/// Takes those devices out of a price_split() whose help is hardly worth having: their share is a
/// small part of the largest one, and without them the others need at most 1 / `worth` as long.
/// Where times are not exact, late packages of a slow device cost more than it can gain.
void leave_out_marginal(std::span<const DeviceCost> devices, uint64_t slices, double worth,
                        SplitPrice& price);

/// When the last device ends with these shares.
double price_shares(std::span<const DeviceCost> devices, std::span<const uint64_t> shares);

/// Joules of a launch that takes T seconds and keeps device i busy for b_i of them:
///   E = T · P_idle + Σ b_i · extra_i
/// P_idle is that of all sensors, since devices that wait draw power for as long as the launch
/// takes; extra_i is what device i draws beyond its idle power while it computes.
double price_energy(const LaunchPower& power, double seconds, std::span<const double> busy);
/// The same, of devices that compute these shares; `seconds` may be longer than they need.
double price_energy(const LaunchPower& power, double seconds, std::span<const DeviceCost> devices,
                    std::span<const uint64_t> shares);

/// What the objective makes least: seconds, joules, or joules times seconds.
double objective_value(Objective objective, double seconds, double joules);

/// The shares that are best by the objective, among those with which all devices that take part end
/// together. For energy these are devices in the order of the joules that a slice costs on them,
/// extra_i · per_slice_i, as far as the next one still saves: for a given T the cheapest devices
/// have as much as they can do in it, and E is linear in T in between.
SplitPrice price_split_for(Objective objective, std::span<const DeviceCost> devices,
                           const LaunchPower& power, uint64_t slices);

}  // namespace tutti::scheduler
