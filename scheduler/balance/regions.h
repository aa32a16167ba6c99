// SPDX-License-Identifier: Apache-2.0
// Which slices of a launch are still to be given out, and to whom first: every participant has a
// region of its own and takes packages from one end of it; who has none left helps out at the other
// end of the largest one. Neighbours begin at opposite ends (0 upwards, 1 downwards, …), so that
// what moves between two of them lies where they meet. Pure logic; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::scheduler {

struct SliceRange {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t end() const { return first + count; }
  bool holds(const SliceRange& other) const {
    return other.count == 0 || (first <= other.first && other.end() <= end());
  }
  bool operator==(const SliceRange&) const = default;
};

class Regions {
 public:
  /// `shares`: slices per participant, in order, together `slices`; empty: the first one has all.
  /// `reaches`: per participant the slices that it may get, its share among them; empty: any.
  /// `downwards`: per participant whether it takes its region's last slices first; empty: every
  /// other one does.
  Regions(uint64_t slices, const std::vector<uint64_t>& shares, size_t participants,
          std::vector<SliceRange> reaches = {}, const std::vector<char>& downwards = {});

  uint64_t remaining() const { return remaining_; }
  /// Whether there is something for the participant: of its own or given back, or at least `least`
  /// slices of somebody else's.
  bool has_for(size_t participant, uint64_t least) const;
  /// In whose region take() would find something for the participant; its own number for what was
  /// given back, where nothing is left, and where there are no shares.
  size_t owner(size_t participant) const { return shared_ ? participant : region_for(participant); }
  /// At most `count` slices that lie together, and as many as `rest` more where nothing of the
  /// region would be left. None only when none remain that the participant may get.
  SliceRange take(size_t participant, uint64_t count, uint64_t rest = 0);
  /// What could not be computed: it is given out again, before all else.
  void give_back(SliceRange range);

 private:
  struct Region {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool downwards = false;
    uint64_t size() const { return end - begin; }
  };
  size_t region_for(size_t participant) const;
  bool limited() const { return !reaches_.empty(); }
  /// What of these the participant may get.
  SliceRange in_reach(size_t participant, const SliceRange& range) const;
  /// How many of the region's slices it may get, from the end at which it would begin.
  uint64_t open(size_t participant, size_t owner) const;
  bool takes_downwards(size_t participant, size_t owner) const {
    return regions_[owner].downwards == (owner == participant);
  }
  bool any_returned(size_t participant) const;

  const bool shared_;  // the first region is everybody's
  std::vector<Region> regions_;
  const std::vector<SliceRange> reaches_;
  std::vector<SliceRange> returned_;
  uint64_t remaining_;
};

}  // namespace tutti::scheduler
