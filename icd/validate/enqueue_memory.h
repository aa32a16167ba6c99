// SPDX-License-Identifier: Apache-2.0
// Checks of the clEnqueue… entry points for buffers, and of markers and barriers. Each appends the
// wait list's commands to `list`. Pure functions, thread-safe.
#pragma once

#include "backends/api/backend.h"
#include "icd/validate/enqueue_common.h"

namespace tutti::icd::validate {

Result<OnBuffer> read_or_write(Direction direction, cl_command_queue queue, cl_mem buffer,
                               size_t offset, size_t size, const void* host, RawWaitList waits,
                               WaitList& list);
Result<OnBuffer> fill(cl_command_queue queue, cl_mem buffer, const void* pattern,
                      size_t pattern_size, size_t offset, size_t size, RawWaitList waits,
                      WaitList& list);
Result<OnBuffer> map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset,
                     size_t size, RawWaitList waits, WaitList& list);
Result<OnBuffer> unmap(cl_command_queue queue, cl_mem memory, RawWaitList waits, WaitList& list);

struct OnTwoBuffers {
  device_virtual::CommandQueue* queue = nullptr;
  device_virtual::Buffer* from = nullptr;
  device_virtual::Buffer* to = nullptr;
};
Result<OnTwoBuffers> copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                          size_t to_offset, size_t size, RawWaitList waits, WaitList& list);

/// A rectangle as the application gives it: origin and region have three elements.
struct RawRect {
  const size_t* origin = nullptr;
  size_t row_pitch = 0;
  size_t slice_pitch = 0;
};
struct RectOnBuffer {
  OnBuffer on;
  backends::Rect buffer_rect, host_rect;  // pitches filled in
  std::array<size_t, 3> region{};
};
Result<RectOnBuffer> rect(Direction direction, cl_command_queue queue, cl_mem buffer,
                          RawRect buffer_rect, RawRect host_rect, const size_t* region,
                          const void* host, RawWaitList waits, WaitList& list);
struct RectOnTwoBuffers {
  OnTwoBuffers on;
  backends::Rect from_rect, to_rect;  // pitches filled in
  std::array<size_t, 3> region{};
};
Result<RectOnTwoBuffers> copy_rect(cl_command_queue queue, cl_mem from, cl_mem to,
                                   RawRect from_rect, RawRect to_rect, const size_t* region,
                                   RawWaitList waits, WaitList& list);

Result<device_virtual::CommandQueue*> migrate(cl_command_queue queue, cl_uint count,
                                              const cl_mem* objects, cl_mem_migration_flags flags,
                                              RawWaitList waits, WaitList& list);
/// clEnqueueMarkerWithWaitList, clEnqueueBarrierWithWaitList, and their forerunners.
Result<device_virtual::CommandQueue*> only_waits(cl_command_queue queue, RawWaitList waits,
                                                 WaitList& list);
Result<device_virtual::CommandQueue*> legacy_marker(cl_command_queue queue, const cl_event* event);
Result<device_virtual::CommandQueue*> legacy_wait(cl_command_queue queue, RawWaitList waits,
                                                  WaitList& list);

/// The arguments of clEnqueueNativeKernel.
struct RawNativeKernel {
  const void* function = nullptr;
  const void* args = nullptr;
  size_t args_size = 0;
  cl_uint count = 0;
  const cl_mem* objects = nullptr;
  const void* const* places = nullptr;
};
struct NativeKernel {
  device_virtual::CommandQueue* queue = nullptr;
  std::vector<device_virtual::CommandQueue::NativeBuffer> buffers;
};
Result<NativeKernel> native_kernel(cl_command_queue queue, const RawNativeKernel& call,
                                   RawWaitList waits, WaitList& list);

}  // namespace tutti::icd::validate
