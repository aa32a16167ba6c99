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
};

class Regions {
 public:
  /// `shares`: slices per participant, in order, together `slices`; empty: the first one has all.
  Regions(uint64_t slices, const std::vector<uint64_t>& shares, size_t participants);

  uint64_t remaining() const { return remaining_; }
  /// Whether there is something for the participant: of its own or given back, or at least `least`
  /// slices of somebody else's.
  bool has_for(size_t participant, uint64_t least) const;
  /// In whose region take() would find something for the participant; its own number for what was
  /// given back, where nothing is left, and where there are no shares.
  size_t owner(size_t participant) const { return shared_ ? participant : region_for(participant); }
  /// At most `count` slices that lie together, and as many as `rest` more where nothing of the
  /// region would be left. None only when none remain.
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

  const bool shared_;  // the first region is everybody's
  std::vector<Region> regions_;
  std::vector<SliceRange> returned_;
  uint64_t remaining_;
};

}  // namespace tutti::scheduler
