// SPDX-License-Identifier: Apache-2.0
// Proofs that a package stores every byte of a range: stores that are executed by a full box of
// work-items and iterations, at strides that leave no gap. Immutable after it is made, thread-safe.
#pragma once

#include <vector>

#include "scheduler/access/access_use.h"

namespace tutti::scheduler {

class DenseCover {
 public:
  explicit DenseCover(const EvaluatedLaunch& launch);

  /// Slices [first, first + count) along `dimension` store all bytes [begin, end) of the argument's
  /// pointer. False where it cannot be proven.
  bool covers(uint32_t window, uint32_t dimension, uint64_t first, uint64_t count,
              affine::Wide begin, affine::Wide end) const;

 private:
  struct Side {
    affine::SymbolId symbol = 0;
    int64_t stride = 0;    // bytes; 0: the offset does not depend on it
    affine::Interval box;  // in the whole launch
    bool operator==(const Side&) const = default;
  };
  struct Run {
    affine::Wide begin = 0;
    affine::Wide size = 0;
  };
  /// Stores that differ by constants only.
  struct Group {
    uint32_t window = 0;
    std::vector<Side> sides;  // ascending by |stride|
    std::vector<Run> runs;    // what all of them store together, per point of the box
  };

  bool sides_of(const AccessDomain& domain, const AccessUse& use, const KernelSummary& summary,
                std::vector<Side>& sides, affine::Wide& constant) const;
  /// The contiguous range that a run makes over the package's part of the box.
  bool extent(const Group& group, const Run& run, uint32_t dimension, uint64_t first,
              uint64_t count, Run& out) const;

  DimensionShape shape_[3];
  std::vector<Group> groups_;
};

}  // namespace tutti::scheduler
