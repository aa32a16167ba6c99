// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/image_boxes.h"

#include <algorithm>

namespace tutti::scheduler {

std::vector<PlacedBox> boxes_of(const backends::ImageShape& shape, uint64_t begin, uint64_t end) {
  const auto [width, rows, slices] = shape.extent;
  const uint64_t pixel = shape.pixel_size;
  const uint64_t row_bytes = width * pixel;
  // An image of one row or slice may have no pitch.
  const uint64_t row = rows > 1 ? shape.second_pitch() : UINT64_MAX;
  const uint64_t slice = slices > 1 ? shape.slice_pitch : UINT64_MAX;
  const uint64_t slice_end = (rows > 1 ? (rows - 1) * row : 0) + row_bytes;
  // How many periods of `pitch` from a full one on, up to `most`, whose first `length` bytes lie in
  // `rest` bytes.
  const auto full = [](uint64_t rest, uint64_t length, uint64_t pitch, uint64_t most) {
    return rest < length ? 0 : std::min((rest - length) / pitch + 1, most);
  };
  std::vector<PlacedBox> result;
  while (begin < end) {
    const uint64_t z = begin / slice;
    const uint64_t in_slice = begin - (slice == UINT64_MAX ? 0 : z * slice);
    const uint64_t y = in_slice / row;
    const uint64_t in_row = in_slice - (row == UINT64_MAX ? 0 : y * row);
    if (z >= slices) break;
    const uint64_t next_slice = slices > 1 ? (z + 1) * slice : UINT64_MAX;
    if (y >= rows || (in_row >= row_bytes && y + 1 >= rows)) {  // behind the slice
      begin = next_slice;
      continue;
    }
    const uint64_t row_begin = begin - in_row;
    if (in_row >= row_bytes) {  // behind the row
      begin = row_begin + row;
      continue;
    }
    const uint64_t rest = end - begin;
    PlacedBox placed{{{0, y, z}, {width, 1, 1}}, row_begin};
    if (const uint64_t count = in_slice == 0 ? full(rest, slice_end, slice, slices - z) : 0;
        count > 0) {
      placed.box.extent = {width, rows, count};
      begin = z + count < slices ? (z + count) * slice : end;
    } else if (const uint64_t whole = in_row == 0 ? full(rest, row_bytes, row, rows - y) : 0;
               whole > 0) {
      placed.box.extent[1] = whole;
      begin = y + whole < rows ? row_begin + whole * row : next_slice;
    } else {
      const uint64_t last = std::min(row_bytes, in_row + rest);
      placed.box.origin[0] = in_row / pixel;
      placed.box.extent[0] = (last + pixel - 1) / pixel - placed.box.origin[0];
      placed.offset += placed.box.origin[0] * pixel;
      begin = y + 1 < rows ? row_begin + row : next_slice;
    }
    result.push_back(placed);
  }
  return result;
}

std::vector<PlacedBox> boxes_of(const backends::ImageShape& shape, const SegmentRows& rows) {
  std::vector<PlacedBox> result = boxes_of(shape, rows.first.begin, rows.first.end);
  if (rows.count == 1) return result;
  if (result.size() == 1) {
    backends::ImageBox& box = result.front().box;
    // Within a row, from its first pixel on: no part of it is behind the row.
    const bool in_row = result.front().offset == rows.first.begin &&
                        box.extent[0] * shape.pixel_size >= rows.length();
    const bool columns = in_row && rows.pitch == shape.second_pitch() &&
                         box.origin[1] + rows.count <= shape.extent[1];
    const bool layers = rows.pitch == shape.slice_pitch && shape.extent[2] > 1 &&
                        box.extent[2] == 1 && box.origin[2] + rows.count <= shape.extent[2];
    if (columns || layers) {
      box.extent[columns ? 1 : 2] = rows.count;
      return result;
    }
  }
  for (uint64_t i = 1; i < rows.count; ++i) {
    const auto more =
        boxes_of(shape, rows.first.begin + i * rows.pitch, rows.first.end + i * rows.pitch);
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

ByteStrips whole_pixels(const backends::ImageShape& shape, const ByteStrips& strips,
                        uint64_t size) {
  const uint64_t pixel = shape.pixel_size;
  const ByteRange range{strips.range.begin / pixel * pixel,
                        std::min((strips.range.end + pixel - 1) / pixel * pixel, size)};
  const auto signed_pixel = static_cast<int64_t>(pixel);
  const bool aligned = strips.strided() && strips.phase % signed_pixel == 0 &&
                       strips.period % pixel == 0 && strips.length % pixel == 0;
  if (!aligned) return {.range = range};
  return {range, strips.phase, strips.period, strips.length};
}

ImageLayout layout_of(const backends::ImageShape& shape) {
  ImageLayout layout{shape.second_pitch(), shape.slice_pitch, shape.pixel_size, {}};
  for (size_t i = 0; i < 3; ++i) layout.extent[i] = static_cast<uint32_t>(shape.extent[i]);
  return layout;
}

SamplerLayout layout_of(const backends::SamplerState& sampler) {
  const bool repeats =
      sampler.addressing == CL_ADDRESS_REPEAT || sampler.addressing == CL_ADDRESS_MIRRORED_REPEAT;
  if (sampler.normalized || repeats) return {kAnyReach};
  return {sampler.filter == CL_FILTER_LINEAR ? 1 : 0};
}

}  // namespace tutti::scheduler
