// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/image_transfer.h"

#include <vector>

#include "scheduler/memory/image_boxes.h"

namespace tutti::scheduler {

Status enqueue_boxes(backends::Queue& queue, backends::Memory& memory, bool to_device,
                     std::span<const HostBox> boxes, size_t second_pitch, size_t third_pitch,
                     std::vector<backends::CompletionPtr>& under_way) {
  for (const auto& [box, host] : boxes) {
    TUTTI_ASSIGN(auto moved,
                 to_device ? queue.write_image(memory, box, host, second_pitch, third_pitch, {})
                           : queue.read_image(memory, box, host, second_pitch, third_pitch, {}));
    under_way.push_back(std::move(moved));
  }
  return {};
}

Status move_boxes(backends::Queue& queue, backends::Memory& memory, bool to_device,
                  std::span<const HostBox> boxes, size_t second_pitch, size_t third_pitch) {
  std::vector<backends::CompletionPtr> under_way;
  Status status =
      enqueue_boxes(queue, memory, to_device, boxes, second_pitch, third_pitch, under_way);
  // Also after a failure: the host's memory is used until then.
  for (const auto& moved : under_way) {
    Status ended = moved->wait();
    if (status) status = std::move(ended);
  }
  return status;
}

Status move_image_rows(backends::Queue& queue, backends::Memory& memory, bool to_device,
                       const backends::ImageShape& shape, const SegmentRows& rows,
                       std::byte* copy) {
  std::vector<HostBox> boxes;
  for (const auto& [box, offset] : boxes_of(shape, rows)) boxes.push_back({box, copy + offset});
  return move_boxes(queue, memory, to_device, boxes, shape.second_pitch(), shape.slice_pitch);
}

}  // namespace tutti::scheduler
