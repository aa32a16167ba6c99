// SPDX-License-Identifier: Apache-2.0
#include "scheduler/balance/regions.h"

#include <algorithm>

namespace tutti::scheduler {

Regions::Regions(uint64_t slices, const std::vector<uint64_t>& shares, size_t participants)
    : shared_(shares.empty()), regions_(participants), remaining_(slices) {
  uint64_t begin = 0;
  for (size_t i = 0; i < participants; ++i) {
    const uint64_t share = i < shares.size() ? shares[i] : (i == 0 ? slices : 0);
    regions_[i] = {begin, begin + share, i % 2 == 1};
    begin += share;
  }
}

void Regions::give_back(SliceRange range) {
  if (range.count == 0) return;
  remaining_ += range.count;
  returned_.push_back(range);
}

bool Regions::has_for(size_t participant, uint64_t least) const {
  if (!returned_.empty() || regions_[participant].size() > 0) return remaining_ > 0;
  return std::any_of(regions_.begin(), regions_.end(), [&](const Region& region) {
    return region.size() >= std::max<uint64_t>(least, 1);
  });
}

size_t Regions::region_for(size_t participant) const {
  if (!returned_.empty() || regions_[participant].size() > 0) return participant;
  const auto largest =
      std::max_element(regions_.begin(), regions_.end(),
                       [](const Region& a, const Region& b) { return a.size() < b.size(); });
  return largest->size() > 0 ? static_cast<size_t>(largest - regions_.begin()) : participant;
}

SliceRange Regions::take(size_t participant, uint64_t count, uint64_t rest) {
  if (!returned_.empty()) {
    SliceRange& range = returned_.back();
    const SliceRange taken{range.first, std::min(count, range.count)};
    range = {range.first + taken.count, range.count - taken.count};
    remaining_ -= taken.count;
    if (range.count == 0) returned_.pop_back();
    return taken;
  }
  const size_t owner = region_for(participant);
  Region* const region = &regions_[owner];
  const bool downwards = region->downwards == (owner == participant);
  count = region->size() <= count + rest ? region->size() : count;
  remaining_ -= count;
  if (downwards) {
    region->end -= count;
    return {region->end, count};
  }
  region->begin += count;
  return {region->begin - count, count};
}

}  // namespace tutti::scheduler
