// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/transfer_choice.h"

#include <algorithm>
#include <bit>

namespace tutti::scheduler {

size_t TransferChoice::class_of(uint64_t bytes) {
  const auto doublings = static_cast<size_t>(std::bit_width(bytes / kLeast));
  return std::min<size_t>(doublings > 0 ? (doublings - 1) / 2 : 0, 3);
}

TransferChoice::Next TransferChoice::next(uint64_t bytes) {
  Class& sizes = classes_[class_of(bytes)];
  if (sizes.decided()) {
    if (++sizes.since < sizes.again) return {sizes.faster(), false};
    const uint32_t again = std::min(sizes.again, UINT32_MAX / 2) * 2;
    sizes = {};
    sizes.again = again;
  }
  return {sizes.trials[0] <= sizes.trials[1] ? Way::kDirect : Way::kStaged, true};
}

bool TransferChoice::ended(uint64_t bytes, Way way, double rate) {
  Class& sizes = classes_[class_of(bytes)];
  if (sizes.decided()) return false;  // of several at the same time, others were sooner
  const auto i = static_cast<size_t>(way);
  ++sizes.trials[i];
  sizes.rates[i] = std::max(sizes.rates[i], rate);
  return sizes.decided();
}

void TransferChoice::failed(uint64_t bytes) {
  Class& sizes = classes_[class_of(bytes)];
  if (!sizes.decided()) {
    ++sizes.trials[1];
    return;
  }
  // What has been faster may be so again, but not at once.
  sizes.rates[1] = 0;
}

double TransferChoice::rate(uint64_t bytes, Way way) const {
  return classes_[class_of(bytes)].rates[static_cast<size_t>(way)];
}

}  // namespace tutti::scheduler
