// SPDX-License-Identifier: Apache-2.0
// The arithmetic of rectangular copies, safe against overflow. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/api/backend.h"
#include "base/result.h"
#include "icd/validate/enqueue_memory.h"

namespace tutti::icd::validate {

/// CL_INVALID_VALUE when it is NULL or one of its sizes is 0.
Result<std::array<size_t, 3>> region_of(const size_t* region);
/// The rectangle with its default pitches filled in; CL_INVALID_VALUE when they do not fit the
/// region.
Result<backends::Rect> rectangle_of(const RawRect& raw, const std::array<size_t, 3>& region);
/// Does the region lie within `size` bytes?
bool within(const backends::Rect& rect, const std::array<size_t, 3>& region, uint64_t size);
/// Do two regions of one buffer, whose windows begin at `a_base` and `b_base`, overlap? Both lie
/// within it. Exact for equal pitches; for different ones, their spans are compared.
bool overlap(const backends::Rect& a, uint64_t a_base, const backends::Rect& b, uint64_t b_base,
             const std::array<size_t, 3>& region);

}  // namespace tutti::icd::validate
