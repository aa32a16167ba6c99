// SPDX-License-Identifier: Apache-2.0
// What slices touch in strips that repeat, though their boxes meet: grid-stride loops, structures
// of arrays, columns. Pure functions.
#pragma once

#include "scheduler/access/split_answer.h"

namespace tutti::scheduler {

enum class Accesses : uint8_t { kWrites, kLoads, kAll };

/// These accesses to the window along `dimension` as strips that repeat, or period 0 where that
/// cannot be proven.
///
/// Proof obligation: every offset is P·k + r for some integer k, where r moves by C bytes per
/// slice. If some of them write, what one slice does has r within |C| bytes of one place; with
/// |C|·slices ≤ P, two slices' offsets are different modulo P.
StridedAccesses strided_accesses(const EvaluatedLaunch& launch, uint32_t window, uint32_t dimension,
                                 Accesses accesses);

}  // namespace tutti::scheduler
