// SPDX-License-Identifier: Apache-2.0
// What a launch would cost, whole or split, from what each device is expected to need: plain
// arithmetic (docs/balancers.md, "Choosing"). Seconds; slices as everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::scheduler {

/// One device's part in a launch: t(x) = fixed + x · per_slice.
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
/// x_i(t) = (t − fixed_i) / per_slice_i. Devices whose fixed cost exceeds t take no part, nor do
/// those whose share is less than their smallest package.
SplitPrice price_split(std::span<const DeviceCost> devices, uint64_t slices);

/// When the last device ends with these shares.
double price_shares(std::span<const DeviceCost> devices, std::span<const uint64_t> shares);

}  // namespace tutti::scheduler
