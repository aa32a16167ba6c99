// SPDX-License-Identifier: Apache-2.0
#include "icd/entry/works.h"

#include <CL/cl.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace tutti::icd {

using backends::ImageBox;
using backends::ImageShape;
using backends::Rect;
using device_virtual::Buffer;
using device_virtual::GivenRange;
using device_virtual::Kernel;
using device_virtual::RecordedLaunch;
using scheduler::CopyRectWork;
using scheduler::CopyWork;
using scheduler::FillImageWork;
using scheduler::FillWork;
using scheduler::no_work;
using scheduler::Work;

namespace {

/// The box's pixels in a buffer, one after the other.
Rect packed(const Buffer& image, const ImageBox& box, size_t offset) {
  const auto region = region_of(image, box);
  return {{offset, 0, 0}, region[0], region[0] * region[1]};
}

Work fill_of(const scheduler::BufferView& view, const void* pattern, size_t pattern_size,
             size_t offset, size_t size) {
  if (size == 0) return no_work();
  FillWork work{view, offset, size, {}, static_cast<uint32_t>(pattern_size)};
  std::memcpy(work.pattern.data(), pattern, pattern_size);
  return work;
}

}  // namespace

Work copy_work(const validate::OnTwoBuffers& on, size_t from_offset, size_t to_offset,
               size_t size) {
  if (size == 0) return no_work();
  return CopyWork{on.from->view(), on.to->view(), from_offset, to_offset, size};
}

Work copy_rect_work(const validate::RectOnTwoBuffers& call) {
  return CopyRectWork{call.on.from->view(), call.on.to->view(), call.from_rect, call.to_rect,
                      call.region};
}

Work fill_work(const validate::OnBuffer& on, const void* pattern, size_t pattern_size,
               size_t offset, size_t size) {
  return fill_of(on.buffer->view(), pattern, pattern_size, offset, size);
}

Work svm_fill_work(const validate::OnShared& on, const void* pattern, size_t pattern_size,
                   size_t size) {
  return fill_of(on.place.allocation->view_from(0), pattern, pattern_size, on.place.offset, size);
}

Status set_object(device_virtual::Kernel& kernel, cl_uint index, size_t size, const void* value) {
  using Kind = validate::ArgumentValue::Kind;
  TUTTI_TRY(validate::argument_index(kernel, index));
  TUTTI_ASSIGN(const auto found, validate::argument_value(kernel, index, size, value));
  switch (found.kind) {
    case Kind::kBuffer:
      kernel.set_buffer(index, found.buffer);
      break;
    case Kind::kSampler:
      kernel.set_sampler(index, found.sampler);
      break;
    case Kind::kQueue:
      kernel.set_queue(index, *found.queue);
      break;
    case Kind::kLocal:
      kernel.set_local(index, size);
      break;
  }
  return {};
}

void set_pointer(const validate::ArgumentPointer& call, cl_uint index) {
  if (call.place) {
    call.kernel->set_shared(index, *call.place);
  } else {
    call.kernel->set_buffer(index, nullptr);
  }
}

std::shared_ptr<const RecordedLaunch> recorded_launch(validate::KernelLaunch&& launch,
                                                      const GivenRange& range, Ref<Kernel> own) {
  auto work = launch.kernel->launch_of(std::move(launch.arguments), launch.range.shape,
                                       launch.range.local_given);
  return std::make_shared<const RecordedLaunch>(std::move(work), range, launch.complete,
                                                std::move(own));
}

Rect rect_of(const Buffer& image, const ImageBox& box) {
  const ImageShape& shape = *image.image();
  return {{box.origin[0] * shape.pixel_size, box.origin[1], box.origin[2]},
          shape.second_pitch(),
          shape.slice_pitch};
}

std::array<size_t, 3> region_of(const Buffer& image, const ImageBox& box) {
  return {box.extent[0] * image.image()->pixel_size, box.extent[1], box.extent[2]};
}

Work copy_image_work(const validate::OnTwoImages& call) {
  const Buffer& from = *call.from.on.buffer;
  const Buffer& to = *call.to.on.buffer;
  return CopyRectWork{from.view(), to.view(), rect_of(from, call.from.box),
                      rect_of(to, call.to.box), region_of(from, call.from.box)};
}

Work copy_image_to_buffer_work(const validate::OnImageAndBuffer& call, size_t offset) {
  const Buffer& image = *call.image.on.buffer;
  return CopyRectWork{image.view(), call.buffer->view(), rect_of(image, call.image.box),
                      packed(image, call.image.box, offset), region_of(image, call.image.box)};
}

Work copy_buffer_to_image_work(const validate::OnImageAndBuffer& call, size_t offset) {
  const Buffer& image = *call.image.on.buffer;
  return CopyRectWork{call.buffer->view(), image.view(), packed(image, call.image.box, offset),
                      rect_of(image, call.image.box), region_of(image, call.image.box)};
}

Work fill_image_work(const validate::OnImage& call, const void* color) {
  const Buffer& image = *call.on.buffer;
  FillImageWork work{image.view(), image.buffer_image(), call.box, {}};
  // "If the image has a depth format … a single component floating-point color value."
  const bool depth = image.image()->format.image_channel_order == CL_DEPTH;
  std::memcpy(work.color.data(), color, depth ? sizeof(cl_float) : work.color.size());
  return work;
}

}  // namespace tutti::icd
