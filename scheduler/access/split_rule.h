// SPDX-License-Identifier: Apache-2.0
// May a launch be split along a dimension? The rule behind Verdict. Pure functions.
#pragma once

#include "scheduler/access/split_answer.h"

namespace tutti::scheduler {

/// What forbids every split of this launch; kDisjoint when nothing does.
SplitAnswer may_split_at_all(const EvaluatedLaunch& launch);

/// How the launch divides along `dimension`. Requires may_split_at_all().
///
/// kDisjoint is proven for boxes: for every pair of arguments in one root buffer either their
/// launches' ranges are apart, or both advance by the same number of bytes C per slice and
/// everything that one slice writes fits into |C| bytes; or for strips (strided_accesses.h). Where
/// a buffer is updated by atomics, and everywhere with policy.distrust_races, loads of what the
/// launch writes count like writes, since they may see another work-group's. What cannot be told
/// apart is merged (merge_rule.h), or keeps the launch whole.
SplitAnswer may_split_along(const EvaluatedLaunch& launch, uint32_t dimension,
                            const SplitPolicy& policy);

}  // namespace tutti::scheduler
