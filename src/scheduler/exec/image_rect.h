// SPDX-License-Identifier: Apache-2.0
// Rectangles of bytes in an image's host's copy, as boxes of pixels. Pure functions.
#pragma once

#include "scheduler/exec/work.h"

namespace tutti::scheduler {

inline backends::ImageBox box_of(const backends::Rect& rect, const std::array<size_t, 3>& region,
                                 const backends::ImageShape& shape) {
  return {{rect.origin[0] / shape.pixel_size, rect.origin[1], rect.origin[2]},
          {region[0] / shape.pixel_size, region[1], region[2]}};
}

inline bool covers(const backends::ImageBox& box, const backends::ImageShape& shape) {
  return box.extent == shape.extent;
}

/// The application's memory of the first pixel.
inline std::byte* first_byte(const RectWork& work) {
  const backends::Rect& rect = work.host_rect;
  return static_cast<std::byte*>(work.host) + rect.origin[0] + rect.origin[1] * rect.row_pitch +
         rect.origin[2] * rect.slice_pitch;
}

}  // namespace tutti::scheduler
