// SPDX-License-Identifier: Apache-2.0
// The queue's commands on images.
#include "backends/opencl/event_list.h"
#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {
namespace {

/// The pitches as clEnqueueRead/WriteImage take them.
struct VendorPitches {
  size_t row = 0, slice = 0;
};

VendorPitches vendor_pitches(const Memory& memory, size_t second, size_t third) {
  switch (static_cast<const OpenClMemory&>(memory).type()) {
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
      return {};
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      // "slice_pitch: … each image of a 1D or 2D image array". Rusticl of Mesa 22.3 looks at the
      // row pitch, which nothing else does for one row.
      return {second, second};
    case CL_MEM_OBJECT_IMAGE2D:
      return {second, 0};  // "must be 0 if image is a 1D or 2D image"
    default:
      return {second, third};
  }
}

}  // namespace

Result<CompletionPtr> OpenClQueue::read_image(Memory& from, const ImageBox& box, void* to,
                                              size_t second_pitch, size_t third_pitch,
                                              WaitList wait) {
  const VendorPitches pitch = vendor_pitches(from, second_pitch, third_pitch);
  return enqueued("clEnqueueReadImage", wait, [&](const EventList& events, cl_event* event) {
    if (!cl_.clEnqueueReadImage) return CL_INVALID_OPERATION;
    const cl_int code = cl_.clEnqueueReadImage(
        queue_.get(), handle_of(from), CL_FALSE, box.origin.data(), box.extent.data(), pitch.row,
        pitch.slice, to, events.count(), events.events(), event);
    if (code == CL_SUCCESS) {
      count_to_host(from.pixel_size() * box.extent[0] * box.extent[1] * box.extent[2]);
    }
    return code;
  });
}

Result<CompletionPtr> OpenClQueue::write_image(Memory& to, const ImageBox& box, const void* from,
                                               size_t second_pitch, size_t third_pitch,
                                               WaitList wait) {
  const VendorPitches pitch = vendor_pitches(to, second_pitch, third_pitch);
  return enqueued("clEnqueueWriteImage", wait, [&](const EventList& events, cl_event* event) {
    if (!cl_.clEnqueueWriteImage) return CL_INVALID_OPERATION;
    const cl_int code = cl_.clEnqueueWriteImage(
        queue_.get(), handle_of(to), CL_FALSE, box.origin.data(), box.extent.data(), pitch.row,
        pitch.slice, from, events.count(), events.events(), event);
    if (code == CL_SUCCESS) {
      count_to_device(to.pixel_size() * box.extent[0] * box.extent[1] * box.extent[2]);
    }
    return code;
  });
}

Result<CompletionPtr> OpenClQueue::copy_image(Memory& from, const ImageBox& box, Memory& to,
                                              const std::array<size_t, 3>& origin, WaitList wait) {
  return enqueued("clEnqueueCopyImage", wait, [&](const EventList& events, cl_event* event) {
    if (!cl_.clEnqueueCopyImage) return CL_INVALID_OPERATION;
    return cl_.clEnqueueCopyImage(queue_.get(), handle_of(from), handle_of(to), box.origin.data(),
                                  origin.data(), box.extent.data(), events.count(), events.events(),
                                  event);
  });
}

Result<CompletionPtr> OpenClQueue::fill_image(Memory& to, const ImageBox& box,
                                              std::span<const std::byte, 16> color, WaitList wait) {
  // Vendors read the colour as vectors: give it their alignment.
  alignas(16) std::byte aligned[16];
  std::copy(color.begin(), color.end(), aligned);
  return enqueued("clEnqueueFillImage", wait, [&](const EventList& events, cl_event* event) {
    if (!cl_.clEnqueueFillImage) return CL_INVALID_OPERATION;
    return cl_.clEnqueueFillImage(queue_.get(), handle_of(to), aligned, box.origin.data(),
                                  box.extent.data(), events.count(), events.events(), event);
  });
}

}  // namespace tutti::backends
