// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/enqueue_image.h"

#include <algorithm>

#include "device_virtual/image_format.h"

namespace tutti::icd::validate {
namespace {

using backends::ImageBox;
using backends::ImageShape;

/// Dimensions that a region of such an image has, layers included.
unsigned region_dimensions(const ImageShape& shape) {
  return device_virtual::image_dimensions(shape.type) +
         (device_virtual::is_image_array(shape.type) ? 1 : 0);
}

Result<ImageBox> box_in(const ImageShape& shape, RawBox raw) {
  // "CL_INVALID_VALUE if origin or region is NULL."
  if (raw.origin == nullptr || raw.region == nullptr) {
    return tutti::fail(CL_INVALID_VALUE, "origin or region is NULL");
  }
  ImageBox box;
  std::copy_n(raw.origin, 3, box.origin.begin());
  std::copy_n(raw.region, 3, box.extent.begin());
  for (unsigned d = 0; d < 3; ++d) {
    // "CL_INVALID_VALUE if values in origin and region do not follow rules described in the
    // argument description": beyond the image's dimensions, 0 and 1; and "if any region array
    // element is 0".
    if (d >= region_dimensions(shape) && (box.origin[d] != 0 || box.extent[d] != 1)) {
      return tutti::fail(CL_INVALID_VALUE, "origin or region goes beyond the image's dimensions");
    }
    // "CL_INVALID_VALUE if the region being read or written specified by origin and region is out
    // of bounds."
    if (box.extent[d] == 0 || box.origin[d] > shape.extent[d] ||
        box.extent[d] > shape.extent[d] - box.origin[d]) {
      return tutti::fail(CL_INVALID_VALUE, "the region is empty or out of bounds");
    }
  }
  return box;
}

Result<OnImage> on_box(cl_command_queue queue_handle, cl_mem image_handle, RawBox raw) {
  OnImage call;
  TUTTI_ASSIGN(call.on, on_image(queue_handle, image_handle));
  TUTTI_ASSIGN(call.box, box_in(*call.on.buffer->image(), raw));
  return call;
}

}  // namespace

Result<ImageTransfer> image_transfer(Direction direction, cl_command_queue queue_handle,
                                     cl_mem image_handle, RawBox raw, size_t row_pitch,
                                     size_t slice_pitch, const void* host, RawWaitList waits,
                                     WaitList& list) {
  ImageTransfer call;
  TUTTI_ASSIGN(static_cast<OnImage&>(call), on_box(queue_handle, image_handle, raw));
  const ImageShape& shape = *call.on.buffer->image();
  // "The row_pitch … must be greater than or equal to the element size in bytes × width. If
  // row_pitch is set to 0, the appropriate row pitch is calculated".
  const size_t row = call.box.extent[0] * shape.pixel_size;
  if (row_pitch != 0 && row_pitch < row) {
    return tutti::fail(CL_INVALID_VALUE, "the row pitch is less than a row");
  }
  if (row_pitch == 0) row_pitch = row;
  const bool layers_1d = shape.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const bool slices = layers_1d || region_dimensions(shape) == 3;
  // "slice_pitch … must be 0 if image is a 1D or 2D image. Otherwise this value must be greater
  // than or equal to row_pitch × height. If slice_pitch is set to 0, the appropriate slice pitch is
  // calculated".
  const size_t slice = layers_1d ? row_pitch : row_pitch * call.box.extent[1];
  if (slice_pitch != 0 && (!slices || slice_pitch < slice)) {
    return tutti::fail(CL_INVALID_VALUE, "the slice pitch does not fit");
  }
  if (slice_pitch == 0) slice_pitch = slice;
  call.host.row_pitch = layers_1d ? slice_pitch : row_pitch;
  call.host.slice_pitch = slice_pitch;
  if (host == nullptr) return tutti::fail(CL_INVALID_VALUE, "ptr is NULL");
  TUTTI_TRY(check_waits(call.on.queue, waits, list));
  TUTTI_TRY(may_be_accessed(*call.on.buffer, direction));
  return call;
}

Result<OnImage> fill_image(cl_command_queue queue_handle, cl_mem image_handle, const void* color,
                           RawBox raw, RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(const OnImage call, on_box(queue_handle, image_handle, raw));
  // "CL_INVALID_VALUE if fill_color is NULL."
  if (color == nullptr) return tutti::fail(CL_INVALID_VALUE, "fill_color is NULL");
  TUTTI_TRY(check_waits(call.on.queue, waits, list));
  return call;
}

Result<OnImage> map_image(cl_command_queue queue_handle, cl_mem image_handle, cl_map_flags flags,
                          RawBox raw, const size_t* row_pitch, const size_t* slice_pitch,
                          RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(const OnImage call, on_box(queue_handle, image_handle, raw));
  const ImageShape& shape = *call.on.buffer->image();
  TUTTI_TRY(map_flags(flags));
  // "CL_INVALID_VALUE if image_row_pitch is NULL." "CL_INVALID_VALUE if image is a 3D image, 1D or
  // 2D image array object and image_slice_pitch is NULL."
  const bool slices = shape.slice_pitch != 0;
  if (row_pitch == nullptr || (slices && slice_pitch == nullptr)) {
    return tutti::fail(CL_INVALID_VALUE, "no place for a pitch");
  }
  TUTTI_TRY(check_waits(call.on.queue, waits, list));
  TUTTI_TRY(may_be_mapped(*call.on.buffer, flags));
  return call;
}

Result<OnTwoImages> copy_image(cl_command_queue queue_handle, cl_mem from, cl_mem to,
                               const size_t* from_origin, const size_t* to_origin,
                               const size_t* region, RawWaitList waits, WaitList& list) {
  OnTwoImages call;
  TUTTI_ASSIGN(call.from.on, on_image(queue_handle, from));
  TUTTI_ASSIGN(call.to.on, on_image(queue_handle, to));
  const ImageShape& source = *call.from.on.buffer->image();
  const ImageShape& target = *call.to.on.buffer->image();
  // "CL_IMAGE_FORMAT_MISMATCH if src_image and dst_image do not use the same image format."
  if (!backends::same_format(source.format, target.format)) {
    return tutti::fail(CL_IMAGE_FORMAT_MISMATCH, "images of two formats");
  }
  TUTTI_ASSIGN(call.from.box, box_in(source, {from_origin, region}));
  TUTTI_ASSIGN(call.to.box, box_in(target, {to_origin, region}));
  TUTTI_TRY(check_waits(call.from.on.queue, waits, list));
  // "CL_MEM_COPY_OVERLAP if src_image and dst_image are the same image object and the source and
  // destination regions overlap."
  if (call.from.on.buffer == call.to.on.buffer &&
      device_virtual::boxes_overlap(call.from.box, call.to.box)) {
    return tutti::fail(CL_MEM_COPY_OVERLAP, "source and destination overlap");
  }
  return call;
}

Result<OnImageAndBuffer> copy_image_and_buffer(cl_command_queue queue_handle, cl_mem image_handle,
                                               RawBox raw, cl_mem buffer_handle, size_t offset,
                                               RawWaitList waits, WaitList& list) {
  OnImageAndBuffer call;
  TUTTI_ASSIGN(call.image.on, on_image(queue_handle, image_handle));
  TUTTI_ASSIGN(const OnBuffer other, on_buffer(queue_handle, buffer_handle));
  call.buffer = other.buffer;
  TUTTI_ASSIGN(call.image.box, box_in(*call.image.on.buffer->image(), raw));
  const auto& extent = call.image.box.extent;
  // "CL_INVALID_VALUE if … the region specified by dst_offset and dst_offset + dst_cb refer to a
  // region outside dst_buffer" (src_offset likewise).
  const size_t bytes =
      extent[0] * extent[1] * extent[2] * call.image.on.buffer->image()->pixel_size;
  if (offset > call.buffer->size() || bytes > call.buffer->size() - offset) {
    return tutti::fail(CL_INVALID_VALUE, "the range is outside the buffer");
  }
  TUTTI_TRY(check_waits(call.image.on.queue, waits, list));
  return call;
}

}  // namespace tutti::icd::validate
