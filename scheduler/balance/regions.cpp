// SPDX-License-Identifier: Apache-2.0
#include "scheduler/balance/regions.h"

#include <algorithm>
#include <utility>

namespace tutti::scheduler {

Regions::Regions(uint64_t slices, const std::vector<uint64_t>& shares, size_t participants,
                 std::vector<SliceRange> reaches, const std::vector<char>& downwards)
    : shared_(shares.empty()),
      regions_(participants),
      reaches_(std::move(reaches)),
      remaining_(slices) {
  uint64_t begin = 0;
  for (size_t i = 0; i < participants; ++i) {
    const uint64_t share = i < shares.size() ? shares[i] : (i == 0 ? slices : 0);
    regions_[i] = {begin, begin + share, downwards.empty() ? i % 2 == 1 : downwards[i] != 0};
    begin += share;
  }
}

SliceRange Regions::in_reach(size_t participant, const SliceRange& range) const {
  if (!limited()) return range;
  const uint64_t first = std::max(range.first, reaches_[participant].first);
  const uint64_t end = std::min(range.end(), reaches_[participant].end());
  return {first, end > first ? end - first : 0};
}

uint64_t Regions::open(size_t participant, size_t owner) const {
  const Region& region = regions_[owner];
  const SliceRange part = in_reach(participant, {region.begin, region.size()});
  const bool at_its_end =
      takes_downwards(participant, owner) ? part.end() == region.end : part.first == region.begin;
  return at_its_end ? part.count : 0;
}

bool Regions::any_returned(size_t participant) const {
  return std::any_of(returned_.begin(), returned_.end(), [&](const SliceRange& range) {
    return in_reach(participant, range).count > 0;
  });
}

void Regions::give_back(SliceRange range) {
  if (range.count == 0) return;
  remaining_ += range.count;
  returned_.push_back(range);
}

bool Regions::has_for(size_t participant, uint64_t least) const {
  if (any_returned(participant) || open(participant, participant) > 0) return remaining_ > 0;
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (open(participant, i) >= std::max<uint64_t>(least, 1)) return true;
  }
  return false;
}

size_t Regions::region_for(size_t participant) const {
  if (any_returned(participant) || open(participant, participant) > 0) return participant;
  size_t largest = 0;
  for (size_t i = 1; i < regions_.size(); ++i) {
    if (open(participant, i) > open(participant, largest)) largest = i;
  }
  return open(participant, largest) > 0 ? largest : participant;
}

SliceRange Regions::take(size_t participant, uint64_t count, uint64_t rest) {
  for (auto range = returned_.rbegin(); range != returned_.rend(); ++range) {
    const SliceRange part = in_reach(participant, *range);
    if (part.count == 0) continue;
    const SliceRange taken{part.first, std::min(count, part.count)};
    const SliceRange before{range->first, taken.first - range->first};
    *range = {taken.end(), range->end() - taken.end()};
    remaining_ -= taken.count;
    if (range->count == 0) returned_.erase(std::next(range).base());
    if (before.count > 0) returned_.push_back(before);
    return taken;
  }
  const size_t owner = region_for(participant);
  Region* const region = &regions_[owner];
  const uint64_t most = open(participant, owner);
  count = most <= count + rest ? most : count;
  remaining_ -= count;
  if (takes_downwards(participant, owner)) {
    region->end -= count;
    return {region->end, count};
  }
  region->begin += count;
  return {region->begin - count, count};
}

}  // namespace tutti::scheduler
