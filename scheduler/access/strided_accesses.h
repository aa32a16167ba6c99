// SPDX-License-Identifier: Apache-2.0
// What slices touch in strips that repeat, though their boxes meet: grid-stride loops, structures
// of arrays, columns. Pure functions.
#pragma once

#include "scheduler/access/split_answer.h"

namespace tutti::scheduler {

/// A launch with more strips in one buffer than this burdens the directory more than a comparison
/// of copies costs.
inline constexpr affine::Wide kMostStrips = 4096;

enum class Accesses : uint8_t { kWrites, kLoads, kAll };

/// These accesses to the window along `dimension` as strips that repeat, or period 0 where that
/// cannot be proven.
///
/// Proof obligation: every offset is P·k + r for some integer k, where r moves by C bytes per
/// slice. If some of them write, what one slice does has r within |C| bytes of one place; with
/// |C|·slices ≤ P, two slices' offsets are different modulo P.
///
/// More than `most` strips are none.
StridedAccesses strided_accesses(const EvaluatedLaunch& launch, uint32_t window, uint32_t dimension,
                                 Accesses accesses, affine::Wide most = kMostStrips);

/// What slices [first, first + count) may touch where accesses repeat, within `range`.
ByteStrips strips_of(const StridedAccesses& strided, uint64_t first, uint64_t count,
                     const ByteRange& range);

}  // namespace tutti::scheduler
