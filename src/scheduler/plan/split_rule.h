// SPDX-License-Identifier: Apache-2.0
// May a launch be split along a dimension? The rule behind Verdict. Pure functions.
#pragma once

#include <string>

#include "scheduler/plan/access_use.h"

namespace tutti::scheduler {

struct SplitAnswer {
  bool disjoint = false;
  std::string reason;  // in words, either way
  uint32_t line = 0;   // of the source that forbids it, 0 = none
};

/// What forbids every split of this launch; disjoint when nothing does.
SplitAnswer may_split_at_all(const EvaluatedLaunch& launch);

/// Whether the packages along `dimension` write ranges that never meet. Requires
/// may_split_at_all(). Proven for bounding ranges: for every pair of arguments in one root buffer
/// either their launches' ranges are apart, or both advance by the same number of bytes C per slice
/// and everything that one slice writes fits into |C| bytes.
SplitAnswer may_split_along(const EvaluatedLaunch& launch, uint32_t dimension);

}  // namespace tutti::scheduler
