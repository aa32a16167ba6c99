// SPDX-License-Identifier: Apache-2.0
// What a call that was found valid asks for, as the engine takes it: the same whether it is
// enqueued or recorded into a command buffer. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "device_virtual/recorded_launch.h"
#include "icd/validate/enqueue_image.h"
#include "icd/validate/enqueue_kernel.h"
#include "icd/validate/enqueue_memory.h"
#include "icd/validate/kernel.h"
#include "icd/validate/svm.h"
#include "scheduler/command/work.h"

namespace tutti::icd {

scheduler::Work copy_work(const validate::OnTwoBuffers& on, size_t from_offset, size_t to_offset,
                          size_t size);
scheduler::Work copy_rect_work(const validate::RectOnTwoBuffers& call);
scheduler::Work fill_work(const validate::OnBuffer& on, const void* pattern, size_t pattern_size,
                          size_t offset, size_t size);
scheduler::Work svm_fill_work(const validate::OnShared& on, const void* pattern,
                              size_t pattern_size, size_t size);

/// Of clSetKernelArg: what is no number.
Status set_object(device_virtual::Kernel& kernel, cl_uint index, size_t size, const void* value);
/// clSetKernelArg.
inline Status set_argument(device_virtual::Kernel& kernel, cl_uint index, size_t size,
                           const void* value) {
  if (!validate::is_number(kernel, index, size, value)) {
    return set_object(kernel, index, size, value);
  }
  kernel.set_bytes(index, {static_cast<const std::byte*>(value), size});
  return {};
}
/// What clSetKernelArgSVMPointer and its like do.
void set_pointer(const validate::ArgumentPointer& call, cl_uint index);

/// A launch for a command buffer. `own`: the kernel that was found valid, if it is the command's
/// own.
std::shared_ptr<const device_virtual::RecordedLaunch> recorded_launch(
    validate::KernelLaunch&& launch, const device_virtual::GivenRange& range,
    Ref<device_virtual::Kernel> own);

// An image is addressed as its pixels lie in the host's copy, so most commands on images are the
// rectangles of buffers.
backends::Rect rect_of(const device_virtual::Buffer& image, const backends::ImageBox& box);
/// Bytes, rows, slices.
std::array<size_t, 3> region_of(const device_virtual::Buffer& image, const backends::ImageBox& box);
scheduler::Work copy_image_work(const validate::OnTwoImages& call);
scheduler::Work copy_image_to_buffer_work(const validate::OnImageAndBuffer& call, size_t offset);
scheduler::Work copy_buffer_to_image_work(const validate::OnImageAndBuffer& call, size_t offset);
scheduler::Work fill_image_work(const validate::OnImage& call, const void* color);

}  // namespace tutti::icd
