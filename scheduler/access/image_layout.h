// SPDX-License-Identifier: Apache-2.0
// What a summary's expressions see of image and sampler arguments: the bytes of these structures,
// as those of a scalar. Plain data.
#pragma once

#include <cstdint>

namespace tutti::scheduler {

/// Of an image, as it lies in the argument's window. As in the regions of commands, the layers of a
/// 1-D array are rows and those of a 2-D array slices.
struct ImageLayout {
  uint64_t row_bytes = 0;    // from one row to the next
  uint64_t slice_bytes = 0;  // from one slice to the next
  uint64_t pixel_bytes = 0;
  uint32_t extent[3] = {1, 1, 1};  // pixels, rows, slices
};

/// Of a sampler. A read at integer coordinates p, or at others whose integral part is p, sees
/// pixels from p − reach to p + reach, clamped into the image.
struct SamplerLayout {
  int32_t reach = 0;  // 0 for the nearest pixel, 1 for linear filters
};

/// The reach of a sampler with normalized coordinates: nothing is known.
inline constexpr int32_t kAnyReach = INT32_MAX;

}  // namespace tutti::scheduler
