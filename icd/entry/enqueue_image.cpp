// SPDX-License-Identifier: Apache-2.0
// Entry points that enqueue commands on images.
#include "icd/validate/enqueue_image.h"

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/entry/works.h"

namespace tutti::icd {
namespace {

using backends::ImageShape;
using device_virtual::Buffer;
using scheduler::RectWork;
using validate::Direction;
using validate::WaitList;

RectWork transfer(bool write, const validate::ImageTransfer& call, void* host) {
  const Buffer& image = *call.on.buffer;
  return {write, image.view(), rect_of(image, call.box), call.host, region_of(image, call.box),
          host};
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue command_queue, cl_mem image,
                                      cl_bool blocking_read, const size_t* origin,
                                      const size_t* region, size_t row_pitch, size_t slice_pitch,
                                      void* ptr, cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueReadImage", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::image_transfer(Direction::kRead, command_queue, image, {origin, region},
                                          row_pitch, slice_pitch, ptr,
                                          {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(
        transfer(false, call, ptr),
        submission(CL_COMMAND_READ_IMAGE, list, event, blocking_read != 0));
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue command_queue, cl_mem image,
                                       cl_bool blocking_write, const size_t* origin,
                                       const size_t* region, size_t input_row_pitch,
                                       size_t input_slice_pitch, const void* ptr,
                                       cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueWriteImage", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::image_transfer(Direction::kWrite, command_queue, image, {origin, region},
                                          input_row_pitch, input_slice_pitch, ptr,
                                          {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(
        transfer(true, call, const_cast<void*>(ptr)),  // only read from
        submission(CL_COMMAND_WRITE_IMAGE, list, event, blocking_write != 0));
  });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue command_queue, cl_mem image,
                                      const void* fill_color, const size_t* origin,
                                      const size_t* region, cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueFillImage", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::fill_image(command_queue, image, fill_color, {origin, region},
                                      {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(fill_image_work(call, fill_color),
                                  submission(CL_COMMAND_FILL_IMAGE, list, event));
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue command_queue, cl_mem src_image,
                                      cl_mem dst_image, const size_t* src_origin,
                                      const size_t* dst_origin, const size_t* region,
                                      cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCopyImage", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::copy_image(command_queue, src_image, dst_image, src_origin, dst_origin,
                                      region, {num_events_in_wait_list, event_wait_list}, list));
    return call.from.on.queue->enqueue(copy_image_work(call),
                                       submission(CL_COMMAND_COPY_IMAGE, list, event));
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem src_image,
                                              cl_mem dst_buffer, const size_t* src_origin,
                                              const size_t* region, size_t dst_offset,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCopyImageToBuffer", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::copy_image_and_buffer(command_queue, src_image, {src_origin, region},
                                                 dst_buffer, dst_offset,
                                                 {num_events_in_wait_list, event_wait_list}, list));
    return call.image.on.queue->enqueue(copy_image_to_buffer_work(call, dst_offset),
                                        submission(CL_COMMAND_COPY_IMAGE_TO_BUFFER, list, event));
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem src_buffer,
                                              cl_mem dst_image, size_t src_offset,
                                              const size_t* dst_origin, const size_t* region,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCopyBufferToImage", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::copy_image_and_buffer(command_queue, dst_image, {dst_origin, region},
                                                 src_buffer, src_offset,
                                                 {num_events_in_wait_list, event_wait_list}, list));
    return call.image.on.queue->enqueue(copy_buffer_to_image_work(call, src_offset),
                                        submission(CL_COMMAND_COPY_BUFFER_TO_IMAGE, list, event));
  });
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue command_queue, cl_mem image,
                                    cl_bool blocking_map, cl_map_flags map_flags,
                                    const size_t* origin, const size_t* region,
                                    size_t* image_row_pitch, size_t* image_slice_pitch,
                                    cl_uint num_events_in_wait_list,
                                    const cl_event* event_wait_list, cl_event* event,
                                    cl_int* errcode_ret) {
  return entry_object("clEnqueueMapImage", errcode_ret, [&]() -> Result<void*> {
    WaitList list;
    TUTTI_ASSIGN(
        const auto call,
        validate::map_image(command_queue, image, map_flags, {origin, region}, image_row_pitch,
                            image_slice_pitch, {num_events_in_wait_list, event_wait_list}, list));
    TUTTI_ASSIGN(
        void* const pointer,
        call.on.queue->map_image(*call.on.buffer, map_flags, call.box,
                                 submission(CL_COMMAND_MAP_IMAGE, list, event, blocking_map != 0)));
    const ImageShape& shape = *call.on.buffer->image();
    *image_row_pitch = shape.row_pitch;
    if (image_slice_pitch != nullptr) *image_slice_pitch = shape.slice_pitch;
    return pointer;
  });
}

}  // namespace tutti::icd
