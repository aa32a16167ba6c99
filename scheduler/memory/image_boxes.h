// SPDX-License-Identifier: Apache-2.0
// Images as the scheduler addresses them, by the bytes of the host's copy, and as vendors' commands
// do, by boxes of pixels. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/api/backend.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/access/image_layout.h"
#include "scheduler/memory/segment_rows.h"

namespace tutti::scheduler {

/// A box of an image and where its first pixel lies in the host's copy.
struct PlacedBox {
  backends::ImageBox box;
  uint64_t offset = 0;  // bytes
};

/// All pixels that have a byte in [begin, end) of the host's copy. What lies between rows or slices
/// belongs to no pixel.
std::vector<PlacedBox> boxes_of(const backends::ImageShape& shape, uint64_t begin, uint64_t end);
/// The same for ranges at equal distances: one box where they are columns or rows of slices.
std::vector<PlacedBox> boxes_of(const backends::ImageShape& shape, const SegmentRows& rows);

/// The smallest ranges of whole pixels around the given ones. (Strips that end within pixels become
/// the range that they lie in.)
ByteStrips whole_pixels(const backends::ImageShape& shape, const ByteStrips& strips, uint64_t size);

ImageLayout layout_of(const backends::ImageShape& shape);
SamplerLayout layout_of(const backends::SamplerState& sampler);

}  // namespace tutti::scheduler
