// SPDX-License-Identifier: Apache-2.0
// Can what several devices wrote into copies of one buffer become one result? Pure functions.
#pragma once

#include <vector>

#include "scheduler/access/split_answer.h"

namespace tutti::scheduler {

/// The regions in which the windows marked in `together` (by window of the launch) have to be
/// merged, or why that cannot be: mode kWhole then. The proof obligations stand at the two places
/// in merge_rule.cpp that decide them.
SplitAnswer merge_regions(const EvaluatedLaunch& launch, const std::vector<bool>& together,
                          const SplitPolicy& policy);

}  // namespace tutti::scheduler
