// SPDX-License-Identifier: Apache-2.0
// Which ranges of buffers the participants of a split that have parts only need memory for: of
// their shares, made smaller where they do not fit; or of windows that move through the launch.
// Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/devices/backend_set.h"
#include "scheduler/plan/planner.h"
#include "scheduler/plan/shard_ranges.h"

namespace tutti::scheduler {

class ShardChoice {
 public:
  /// `sharded`: by participant. The plan has shares, and gets the rest.
  ShardChoice(BackendSet& backends, const KernelWork& work, KernelPlan& plan, uint64_t unit,
              BufferRanges divisible, std::vector<char> sharded);

  /// Participants whose share does not fit give of it to those who have memory for more. False:
  /// there are none, and the shares are of no use.
  bool shrink_shares();
  /// Sets reaches and shards for shares that fit.
  void set_reaches();
  /// Sets windows, reaches and shards: each device has memory for as much of its share as fits, or
  /// `part` of it, at a time. Who has no room for a single slice gets no share; false: nobody has.
  bool stream(uint64_t part);
  /// The same where arguments of which each slice reads all of some columns have panels. Nothing
  /// has changed where it is false.
  bool stream_with_panels(uint64_t part);
  /// Work-items per second of each participant: of who would stream its share, as far as its link
  /// allows.
  std::vector<double> streamed_rates(const LaunchCosts& costs) const;

 private:
  BufferRanges touched(const SliceRange& slices) const {
    return touched_ranges(work_, plan_, divisible_, slices, unit_);
  }
  bool fits(size_t participant, const BufferRanges& ranges, uint64_t more = 0) const;
  /// How many of the slices, the first or last ones, `most` at most, fit; with `more` than they
  /// touch of each buffer.
  uint64_t most_that_fit(size_t participant, const SliceRange& slices, uint64_t most,
                         bool downwards, uint64_t more) const;
  /// The participant has memory for its share's last slice, and not for its first one.
  bool ended_there(size_t participant, const SliceRange& share) const;
  std::vector<SliceRange> share_ranges() const;
  /// Which arguments may have panels, and along which dimension.
  Panels possible_panels() const;
  /// How many work-groups such panels may be for that take so many bytes together; 0: none.
  uint64_t largest_block(const Panels& panels, uint64_t memory) const;
  /// A streaming participant's window and direction, and the memory that it begins with.
  void set_window(size_t participant, const SliceRange& share, uint64_t part);
  void set_shards(size_t participant, const BufferRanges& ranges);

  BackendSet& backends_;
  const KernelWork& work_;
  KernelPlan& plan_;
  const uint64_t unit_;
  const BufferRanges divisible_;
  const std::vector<char> sharded_;
  const uint64_t slices_;
  uint64_t undivided_ = 0;  // bytes of the launch's other buffers, and of copies for merges
};

}  // namespace tutti::scheduler
