// SPDX-License-Identifier: Apache-2.0
// Pixels moved between an image on a device and memory of the host.
#pragma once

#include <cstddef>
#include <span>

#include "backends/api/backend.h"
#include "scheduler/memory/segment_rows.h"

namespace tutti::scheduler {

/// A box of an image and its first pixel in the host's memory.
struct HostBox {
  backends::ImageBox box;
  std::byte* host = nullptr;
};

/// Enqueues transfers of the boxes, which are `under_way` then, also where some could not be.
/// Pitches are of the host's memory, in bytes.
Status enqueue_boxes(backends::Queue& queue, backends::Memory& memory, bool to_device,
                     std::span<const HostBox> boxes, size_t second_pitch, size_t third_pitch,
                     std::vector<backends::CompletionPtr>& under_way);
/// Moves the boxes, all at once, and waits.
Status move_boxes(backends::Queue& queue, backends::Memory& memory, bool to_device,
                  std::span<const HostBox> boxes, size_t second_pitch, size_t third_pitch);
/// The same for the pixels of these rows of the host's copy, which begins at `copy`.
Status move_image_rows(backends::Queue& queue, backends::Memory& memory, bool to_device,
                       const backends::ImageShape& shape, const SegmentRows& rows, std::byte* copy);

}  // namespace tutti::scheduler
