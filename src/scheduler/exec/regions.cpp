// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/regions.h"

#include <algorithm>

namespace tutti::scheduler {

Regions::Regions(uint64_t slices, const std::vector<uint64_t>& shares, size_t participants)
    : regions_(participants), remaining_(slices) {
  uint64_t begin = 0;
  for (size_t i = 0; i < participants; ++i) {
    const uint64_t share = i < shares.size() ? shares[i] : (i == 0 ? slices : 0);
    regions_[i] = {begin, begin + share, i % 2 == 1};
    begin += share;
  }
}

SliceRange Regions::take(size_t participant, uint64_t count) {
  Region* region = &regions_[participant];
  bool downwards = region->downwards;
  if (region->size() == 0) {
    region =
        &*std::max_element(regions_.begin(), regions_.end(),
                           [](const Region& a, const Region& b) { return a.size() < b.size(); });
    downwards = !region->downwards;
  }
  count = std::min(count, region->size());
  remaining_ -= count;
  if (downwards) {
    region->end -= count;
    return {region->end, count};
  }
  region->begin += count;
  return {region->begin - count, count};
}

}  // namespace tutti::scheduler
