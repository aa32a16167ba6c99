// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/image_rect.h"

#include <algorithm>
#include <cstring>

#include "scheduler/memory/image_boxes.h"
#include "scheduler/memory/image_transfer.h"

namespace tutti::scheduler {
namespace {

/// The part of `box` that the work has, and where its first pixel is in the application's memory;
/// null: there is none.
std::byte* part_of(const RectWork& work, const backends::ImageShape& shape,
                   backends::ImageBox& box) {
  const backends::ImageBox all = box_of(work.buffer_rect, work.region, shape);
  const size_t pitches[] = {shape.pixel_size, work.host_rect.row_pitch, work.host_rect.slice_pitch};
  size_t offset = 0;
  for (size_t d = 0; d < 3; ++d) {
    const size_t begin = std::max(box.origin[d], all.origin[d]);
    const size_t end = std::min(box.origin[d] + box.extent[d], all.origin[d] + all.extent[d]);
    if (begin >= end) return nullptr;
    box.origin[d] = begin;
    box.extent[d] = end - begin;
    offset += (begin - all.origin[d]) * pitches[d];
  }
  return first_byte(work) + offset;
}

}  // namespace

Status move_pixels(backends::Queue& queue, backends::Memory& memory, const RectWork& work,
                   const SegmentRows& rows) {
  const backends::ImageShape& shape = *work.view.buffer->image();
  std::vector<HostBox> boxes;
  for (auto [box, unused] : boxes_of(shape, rows)) {
    if (std::byte* const host = part_of(work, shape, box)) boxes.push_back({box, host});
  }
  return move_boxes(queue, memory, work.write, boxes, work.host_rect.row_pitch,
                    work.host_rect.slice_pitch);
}

void copy_pixels(std::byte* copy, const RectWork& work, uint64_t begin, uint64_t end) {
  const backends::ImageShape& shape = *work.view.buffer->image();
  for (auto [box, unused] : boxes_of(shape, begin, end)) {
    std::byte* const host = part_of(work, shape, box);
    if (!host) continue;
    const backends::Rect in_copy{{box.origin[0] * shape.pixel_size, box.origin[1], box.origin[2]},
                                 shape.second_pitch(),
                                 shape.slice_pitch};
    const backends::Rect in_host{{}, work.host_rect.row_pitch, work.host_rect.slice_pitch};
    const std::array<size_t, 3> region{box.extent[0] * shape.pixel_size, box.extent[1],
                                       box.extent[2]};
    if (work.write) {
      copy_rect(copy, in_copy, host, in_host, region);
    } else {
      copy_rect(host, in_host, copy, in_copy, region);
    }
  }
}

void copy_rect(std::byte* to, const backends::Rect& to_rect, const std::byte* from,
               const backends::Rect& from_rect, const std::array<size_t, 3>& region) {
  const auto start = [](const backends::Rect& rect, size_t row, size_t slice) {
    return rect.origin[0] + (rect.origin[1] + row) * rect.row_pitch +
           (rect.origin[2] + slice) * rect.slice_pitch;
  };
  for (size_t slice = 0; slice < region[2]; ++slice) {
    for (size_t row = 0; row < region[1]; ++row) {
      std::memmove(to + start(to_rect, row, slice), from + start(from_rect, row, slice), region[0]);
    }
  }
}

}  // namespace tutti::scheduler
