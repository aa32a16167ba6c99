// SPDX-License-Identifier: Apache-2.0
// Entry points that record commands into a command buffer: each is found valid as the clEnqueue… of
// the same kind, on the command buffer's queue, and asks for the same work.
#include <initializer_list>
#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/works.h"
#include "icd/validate/command_buffer.h"
#include "icd/validate/enqueue_kernel.h"
#include "icd/validate/kernel.h"
#include "icd/validate/mutable_command.h"

namespace tutti::icd {
namespace {

using device_virtual::Buffer;
using device_virtual::Kernel;
using device_virtual::MutableCommand;
using device_virtual::PublicRef;
using scheduler::MarkerWork;
using validate::WaitList;
using Recorded = device_virtual::CommandBuffer::Recorded;

Recorded recorded(cl_command_type type, scheduler::Work work,
                  std::initializer_list<Buffer*> memory) {
  Recorded result{type, std::move(work), {}};
  for (Buffer* one : memory) result.memory.emplace_back(*one);
  return result;
}

/// `make(queue, none)` checks the command for that queue, and returns a Result<Recorded>; `none` is
/// a wait list that stays empty.
template <typename Make>
cl_int record(const char* name, const validate::RawRecording& call, cl_sync_point_khr* sync_point,
              Make&& make) {
  return entry(name, [&]() -> Status {
    TUTTI_ASSIGN(const auto recording, validate::recording(call));
    WaitList none;
    TUTTI_ASSIGN(Recorded command, make(recording.queue, none));
    TUTTI_ASSIGN(const auto point, recording.commands->record(std::move(command), recording.waits));
    if (sync_point != nullptr) *sync_point = point;
    return {};
  });
}

}  // namespace

cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(cl_command_buffer_khr command_buffer,
                                                   cl_command_queue command_queue,
                                                   const cl_properties* properties,
                                                   cl_uint num_sync_points_in_wait_list,
                                                   const cl_sync_point_khr* sync_point_wait_list,
                                                   cl_sync_point_khr* sync_point,
                                                   cl_mutable_command_khr* mutable_handle) {
  return record("clCommandBarrierWithWaitListKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue, WaitList&) -> Result<Recorded> {
                  return Recorded{CL_COMMAND_BARRIER, MarkerWork{}, {}};
                });
}

cl_int CL_API_CALL clCommandCopyBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, cl_mem src_buffer,
                                          cl_mem dst_buffer, size_t src_offset, size_t dst_offset,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle) {
  return record("clCommandCopyBufferKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto on,
                               validate::copy(queue, src_buffer, dst_buffer, src_offset, dst_offset,
                                              size, {}, none));
                  return recorded(CL_COMMAND_COPY_BUFFER,
                                  copy_work(on, src_offset, dst_offset, size), {on.from, on.to});
                });
}

cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_buffer, cl_mem dst_buffer, const size_t* src_origin,
    const size_t* dst_origin, const size_t* region, size_t src_row_pitch, size_t src_slice_pitch,
    size_t dst_row_pitch, size_t dst_slice_pitch, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return record("clCommandCopyBufferRectKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto call,
                               validate::copy_rect(queue, src_buffer, dst_buffer,
                                                   {src_origin, src_row_pitch, src_slice_pitch},
                                                   {dst_origin, dst_row_pitch, dst_slice_pitch},
                                                   region, {}, none));
                  return recorded(CL_COMMAND_COPY_BUFFER_RECT, copy_rect_work(call),
                                  {call.on.from, call.on.to});
                });
}

cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_buffer, cl_mem dst_image, size_t src_offset,
    const size_t* dst_origin, const size_t* region, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return record("clCommandCopyBufferToImageKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto call, validate::copy_image_and_buffer(
                                                    queue, dst_image, {dst_origin, region},
                                                    src_buffer, src_offset, {}, none));
                  return recorded(CL_COMMAND_COPY_BUFFER_TO_IMAGE,
                                  copy_buffer_to_image_work(call, src_offset),
                                  {call.buffer, call.image.on.buffer});
                });
}

cl_int CL_API_CALL clCommandCopyImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_image, cl_mem dst_image, const size_t* src_origin,
    const size_t* dst_origin, const size_t* region, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return record("clCommandCopyImageKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto call,
                               validate::copy_image(queue, src_image, dst_image, src_origin,
                                                    dst_origin, region, {}, none));
                  return recorded(CL_COMMAND_COPY_IMAGE, copy_image_work(call),
                                  {call.from.on.buffer, call.to.on.buffer});
                });
}

cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_image, cl_mem dst_buffer, const size_t* src_origin,
    const size_t* region, size_t dst_offset, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return record("clCommandCopyImageToBufferKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto call, validate::copy_image_and_buffer(
                                                    queue, src_image, {src_origin, region},
                                                    dst_buffer, dst_offset, {}, none));
                  return recorded(CL_COMMAND_COPY_IMAGE_TO_BUFFER,
                                  copy_image_to_buffer_work(call, dst_offset),
                                  {call.image.on.buffer, call.buffer});
                });
}

cl_int CL_API_CALL clCommandFillBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, cl_mem buffer,
                                          const void* pattern, size_t pattern_size, size_t offset,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle) {
  return record("clCommandFillBufferKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(const auto on, validate::fill(queue, buffer, pattern, pattern_size,
                                                             offset, size, {}, none));
                  return recorded(CL_COMMAND_FILL_BUFFER,
                                  fill_work(on, pattern, pattern_size, offset, size), {on.buffer});
                });
}

cl_int CL_API_CALL clCommandFillImageKHR(cl_command_buffer_khr command_buffer,
                                         cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem image,
                                         const void* fill_color, const size_t* origin,
                                         const size_t* region, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle) {
  return record(
      "clCommandFillImageKHR",
      {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
       sync_point_wait_list, mutable_handle},
      sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
        TUTTI_ASSIGN(const auto call,
                     validate::fill_image(queue, image, fill_color, {origin, region}, {}, none));
        return recorded(CL_COMMAND_FILL_IMAGE, fill_image_work(call, fill_color), {call.on.buffer});
      });
}

cl_int CL_API_CALL clCommandSVMMemcpyKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, void* dst_ptr, const void* src_ptr, size_t size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return record("clCommandSVMMemcpyKHR",
                {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                 sync_point_wait_list, mutable_handle},
                sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
                  TUTTI_ASSIGN(auto* const on,
                               validate::svm_memcpy(queue, dst_ptr, src_ptr, size, {}, none));
                  TUTTI_ASSIGN(auto work, on->copy_shared_work(dst_ptr, src_ptr, size));
                  return recorded(CL_COMMAND_SVM_MEMCPY, std::move(work), {});
                });
}

cl_int CL_API_CALL clCommandSVMMemFillKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, void* svm_ptr,
                                          const void* pattern, size_t pattern_size, size_t size,
                                          cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle) {
  return record(
      "clCommandSVMMemFillKHR",
      {command_buffer, command_queue, properties, num_sync_points_in_wait_list,
       sync_point_wait_list, mutable_handle},
      sync_point, [&](cl_command_queue queue, WaitList& none) -> Result<Recorded> {
        TUTTI_ASSIGN(const auto on,
                     validate::svm_fill(queue, svm_ptr, pattern, pattern_size, size, {}, none));
        return recorded(CL_COMMAND_SVM_MEMFILL, svm_fill_work(on, pattern, pattern_size, size), {});
      });
}

cl_int CL_API_CALL clCommandNDRangeKernelKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_kernel kernel, cl_uint work_dim,
    const size_t* global_work_offset, const size_t* global_work_size, const size_t* local_work_size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return entry("clCommandNDRangeKernelKHR", [&]() -> Status {
    TUTTI_ASSIGN(const auto recording,
                 validate::recording({command_buffer, command_queue, nullptr,
                                      num_sync_points_in_wait_list, sync_point_wait_list}));
    auto& commands = *recording.commands;
    TUTTI_ASSIGN(auto wanted, validate::launch_properties(commands, properties, local_work_size));
    TUTTI_ASSIGN(Kernel * given, validate::kernel(kernel));
    Ref<Kernel> own;
    if (commands.is_mutable() && mutable_handle != nullptr) own = given->copy_for_command();
    validate::KernelLaunch launch;
    WaitList none;
    TUTTI_TRY(validate::kernel_launch(
        recording.queue, own ? own->handle() : kernel,
        {work_dim, global_work_offset, global_work_size, local_work_size}, 0, nullptr, launch, none,
        commands.is_mutable() && (wanted.fields & device_virtual::kUpdatesArguments) != 0));
    device_virtual::GivenRange range{work_dim};
    range.replace(global_work_offset, global_work_size, local_work_size);
    Recorded command{CL_COMMAND_NDRANGE_KERNEL, scheduler::no_work(), {}};
    command.kernel = PublicRef<Kernel>(*given);
    command.launch = recorded_launch(std::move(launch), range, std::move(own));
    MutableCommand* handle = nullptr;
    if (mutable_handle != nullptr) {
      handle = new MutableCommand(commands, *given, std::move(wanted.properties), wanted.fields);
      command.handle = Ref<MutableCommand>::adopt(handle);
    }
    TUTTI_ASSIGN(const auto point, commands.record(std::move(command), recording.waits));
    if (sync_point != nullptr) *sync_point = point;
    if (handle != nullptr) *mutable_handle = handle->handle();
    return {};
  });
}

}  // namespace tutti::icd
