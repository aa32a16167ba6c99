// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/buffer_image.h"

#include <utility>

#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {

BufferImage::BufferImage(BackendSet& backends, BufferView view, const backends::ImageShape& shape)
    : backends_(backends),
      view_(std::move(view)),
      shape_(shape),
      takers_(backends.takers_of(shape)) {
  for (uint32_t i = 0; i < backends.count(); ++i) {
    if (!backends.traits(i).images_over_host_memory) view_.buffer->keep_apart(i);
  }
}

BackendMask BufferImage::takers() const {
  BackendMask takers = takers_;
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const bool in_host = view_.buffer->place_on(i) == kHostPlace;
    if (in_host && !backends_.traits(i).images_over_host_memory) takers &= ~backend_bit(i);
  }
  return takers;
}

Result<backends::Memory*> BufferImage::device_memory(uint32_t backend) {
  const uint32_t gone = view_.buffer->memories_gone();
  TUTTI_ASSIGN(const Shard there,
               view_.buffer->shard(backend, view_.origin, view_.origin + view_.size));
  // Held over the vendor's call, as in LogicalBuffer: it guards nothing that a vendor could need.
  MutexLock lock(mutex_);
  Made& made = memories_[backend];
  if (!made.image || made.memories_gone != gone) {  // or an image of memory that is there no more
    TUTTI_ASSIGN(made.image, backends_.at(backend).image_over(*there.memory, there.at(view_.origin),
                                                              view_.size, shape_));
    made.memories_gone = gone;
  }
  return made.image.get();
}

}  // namespace tutti::scheduler
