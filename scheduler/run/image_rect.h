// SPDX-License-Identifier: Apache-2.0
// Rectangles of bytes in an image's host's copy, as boxes of pixels; and their transfers to and
// from the application's memory.
#pragma once

#include "scheduler/command/work.h"
#include "scheduler/memory/segment_rows.h"

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

/// Moves those pixels of the rows that the work has between its image on a device and the
/// application's memory, and waits.
Status move_pixels(backends::Queue& queue, backends::Memory& memory, const RectWork& work,
                   const SegmentRows& rows);
/// The same for those of the bytes [begin, end) and the host's copy.
void copy_pixels(std::byte* copy, const RectWork& work, uint64_t begin, uint64_t end);

/// Rectangles of the host's memory, which may overlap row by row.
void copy_rect(std::byte* to, const backends::Rect& to_rect, const std::byte* from,
               const backends::Rect& from_rect, const std::array<size_t, 3>& region);

}  // namespace tutti::scheduler
