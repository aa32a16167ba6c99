// SPDX-License-Identifier: Apache-2.0
// The executor's work on images where they lie on a device: vendors' image commands, which know
// their layout. Everything else about images goes by way of the host's copy, as for buffers.
#include <bit>

#include "base/process_exit.h"
#include "scheduler/run/executor.h"
#include "scheduler/run/image_rect.h"

namespace tutti::scheduler {

Result<bool> Executor::transfer_image(const RectWork& work) {
  LogicalBuffer& buffer = *work.view.buffer;
  const backends::ImageShape* shape = buffer.image();
  if (!shape) return false;
  const Place place = preferred_place(buffer, 0, buffer.size());
  if (place == kHostPlace) return false;
  const backends::ImageBox box = box_of(work.buffer_rect, work.region, *shape);
  // What a write leaves alone must be there too: images are valid as a whole.
  if (!work.write || !covers(box, *shape)) TUTTI_TRY(buffer.make_valid(place, 0, buffer.size()));
  TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(place - 1));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(place - 1));
  std::byte* host = first_byte(work);
  const size_t second = work.host_rect.row_pitch, third = work.host_rect.slice_pitch;
  TUTTI_ASSIGN(const auto ended, work.write
                                     ? queue->write_image(*memory, box, host, second, third, {})
                                     : queue->read_image(*memory, box, host, second, third, {}));
  TUTTI_TRY(ended->wait());
  if (work.write) {
    buffer.set_exclusive(place, 0, buffer.size());
  } else {
    buffer.note_read(work.bytes());
  }
  return true;
}

Result<bool> Executor::copy_images(const CopyRectWork& work) {
  LogicalBuffer& from = *work.from.buffer;
  LogicalBuffer& to = *work.to.buffer;
  if (!from.image() || !to.image()) return false;
  const Place place = preferred_place(from, 0, from.size());
  if (place == kHostPlace) return false;
  const backends::ImageBox source = box_of(work.from_rect, work.region, *from.image());
  const backends::ImageBox target = box_of(work.to_rect, work.region, *to.image());
  TUTTI_TRY(from.make_valid(place, 0, from.size()));
  if (!covers(target, *to.image())) TUTTI_TRY(to.make_valid(place, 0, to.size()));
  TUTTI_ASSIGN(backends::Memory * from_memory, from.device_memory(place - 1));
  TUTTI_ASSIGN(backends::Memory * to_memory, to.device_memory(place - 1));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(place - 1));
  TUTTI_ASSIGN(const auto ended,
               queue->copy_image(*from_memory, source, *to_memory, target.origin, {}));
  TUTTI_TRY(ended->wait());
  to.set_exclusive(place, 0, to.size());
  return true;
}

/// The bytes of a pixel of that colour. Only vendors convert colours, so one pixel is filled on the
/// device and read back. Its image is for the same accesses: some formats are for reading only.
Status Executor::pixel_of(const FillImageWork& work, uint32_t backend, std::byte* pixel) {
  backends::ImageShape shape = work.image->shape();
  shape.type = CL_MEM_OBJECT_IMAGE2D;
  shape.extent = {1, 1, 1};
  shape.row_pitch = shape.pixel_size;
  shape.slice_pitch = 0;
  TUTTI_ASSIGN(const auto image, backends_.at(backend).allocate_image(shape));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend));
  const backends::ImageBox box;
  TUTTI_ASSIGN(const auto filled, queue->fill_image(*image, box, work.color, {}));
  TUTTI_TRY(filled->wait());
  TUTTI_ASSIGN(const auto read, queue->read_image(*image, box, pixel, 0, 0, {}));
  return read->wait();
}

Status Executor::fill_buffer_image(const FillImageWork& work, uint32_t backend) {
  // In the buffer's bytes: PoCL 3.1 crashes when it fills an image made from a buffer.
  const backends::ImageShape& shape = work.image->shape();
  FillWork row{work.to, 0, work.box.extent[0] * shape.pixel_size, {}, 0};
  row.pattern_size = static_cast<uint32_t>(shape.pixel_size);
  TUTTI_TRY(pixel_of(work, backend, row.pattern.data()));
  for (size_t y = 0; y < work.box.extent[1]; ++y) {
    row.offset =
        work.box.origin[0] * shape.pixel_size + (work.box.origin[1] + y) * shape.second_pitch();
    TUTTI_TRY(run(row));
  }
  return {};
}

uint32_t Executor::device_of(const FillImageWork& work) const {
  LogicalBuffer& buffer = *work.to.buffer;
  const Place preferred = preferred_place(buffer, 0, buffer.size());
  if (preferred != kHostPlace) return preferred - 1;
  const BackendMask takers = buffer.takers() & backends_.real_devices();
  return takers != 0 ? static_cast<uint32_t>(std::countr_zero(takers)) : 0;
}

MemoryNeeds Executor::needs_of(const Work& work) const {
  const auto* const fill = std::get_if<FillImageWork>(&work);
  if (!fill || fill->image) return {};
  LogicalBuffer& buffer = *fill->to.buffer;
  return {{&buffer, device_of(*fill), {0, buffer.size()}}};
}

Status Executor::run(const FillImageWork& work) {
  const uint32_t first = device_of(work);  // then on those that are left
  Status filled = fill_image_on(work, first);
  for (uint32_t i = 0; i < backends_.real_count() && !filled && !vendors_gone(); ++i) {
    if (i != first) filled = fill_image_on(work, i);
  }
  return filled;
}

Status Executor::fill_image_on(const FillImageWork& work, uint32_t backend) {
  if (work.image) return fill_buffer_image(work, backend);
  LogicalBuffer& buffer = *work.to.buffer;
  const Place place = buffer.place_on(backend);
  if (!covers(work.box, *buffer.image())) TUTTI_TRY(buffer.make_valid(place, 0, buffer.size()));
  TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend));
  TUTTI_ASSIGN(const auto ended, queue->fill_image(*memory, work.box, work.color, {}));
  const Status filled = ended->wait();
  backends_.health().note(backend, filled);
  TUTTI_TRY(filled);
  buffer.set_exclusive(place, 0, buffer.size());
  return {};
}

}  // namespace tutti::scheduler
