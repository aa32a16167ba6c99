// SPDX-License-Identifier: Apache-2.0
// Checks of the clEnqueue… entry points for images. Each appends the wait list's commands to
// `list`. Pure functions, thread-safe.
#pragma once

#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

struct RawBox {
  const size_t* origin = nullptr;
  const size_t* region = nullptr;
};
struct OnImage {
  OnBuffer on;
  backends::ImageBox box;
};

struct ImageTransfer : OnImage {
  backends::Rect host;  // pitches from one index of the second and third dimension to the next
};
Result<ImageTransfer> image_transfer(Direction direction, cl_command_queue queue, cl_mem image,
                                     RawBox box, size_t row_pitch, size_t slice_pitch,
                                     const void* host, RawWaitList waits, WaitList& list);
Result<OnImage> fill_image(cl_command_queue queue, cl_mem image, const void* color, RawBox box,
                           RawWaitList waits, WaitList& list);
Result<OnImage> map_image(cl_command_queue queue, cl_mem image, cl_map_flags flags, RawBox box,
                          const size_t* row_pitch, const size_t* slice_pitch, RawWaitList waits,
                          WaitList& list);

struct OnTwoImages {
  OnImage from;
  OnImage to;
};
Result<OnTwoImages> copy_image(cl_command_queue queue, cl_mem from, cl_mem to,
                               const size_t* from_origin, const size_t* to_origin,
                               const size_t* region, RawWaitList waits, WaitList& list);

struct OnImageAndBuffer {
  OnImage image;
  device_virtual::Buffer* buffer = nullptr;
};
Result<OnImageAndBuffer> copy_image_and_buffer(cl_command_queue queue, cl_mem image, RawBox box,
                                               cl_mem buffer, size_t offset, RawWaitList waits,
                                               WaitList& list);

}  // namespace tutti::icd::validate
