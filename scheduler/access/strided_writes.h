// SPDX-License-Identifier: Apache-2.0
// Writes of slices that are apart though their boxes are not: grid-stride loops, structures of
// arrays, columns. Pure functions.
#pragma once

#include "scheduler/access/split_answer.h"

namespace tutti::scheduler {

/// The window's stores along `dimension` as strips that repeat, or period 0 where that cannot be
/// proven. With `loads` its loads keep to the strips, too.
///
/// Proof obligation: every offset is P·k + r for some integer k, where r moves by C bytes per slice
/// and what one slice does has r within |C| bytes of one place; with |C|·slices ≤ P, two slices'
/// offsets are different modulo P.
StridedWrites strided_writes(const EvaluatedLaunch& launch, uint32_t window, uint32_t dimension,
                             bool loads);

}  // namespace tutti::scheduler
