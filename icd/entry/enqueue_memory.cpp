// SPDX-License-Identifier: Apache-2.0
// Entry points that enqueue transfers, markers and barriers.
#include "icd/validate/enqueue_memory.h"

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/submission.h"
#include "icd/entry/works.h"

namespace tutti::icd {
namespace {

using device_virtual::Submission;
using scheduler::MarkerWork;
using scheduler::no_work;
using scheduler::ReadWork;
using scheduler::RectWork;
using scheduler::WriteWork;
using validate::Direction;
using validate::WaitList;

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer,
                                       cl_bool blocking_read, size_t offset, size_t size, void* ptr,
                                       cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueReadBuffer", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::read_or_write(Direction::kRead, command_queue, buffer, offset, size, ptr,
                                         {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->enqueue(size == 0 ? no_work() : ReadWork{on.buffer->view(), offset, size, ptr},
                             submission(CL_COMMAND_READ_BUFFER, list, event, blocking_read != 0));
  });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer,
                                        cl_bool blocking_write, size_t offset, size_t size,
                                        const void* ptr, cl_uint num_events_in_wait_list,
                                        const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueWriteBuffer", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::read_or_write(Direction::kWrite, command_queue, buffer, offset, size,
                                         ptr, {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->enqueue(
        size == 0 ? no_work() : WriteWork{on.buffer->view(), offset, size, ptr},
        submission(CL_COMMAND_WRITE_BUFFER, list, event, blocking_write != 0));
  });
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem src_buffer,
                                       cl_mem dst_buffer, size_t src_offset, size_t dst_offset,
                                       size_t size, cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCopyBuffer", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::copy(command_queue, src_buffer, dst_buffer, src_offset, dst_offset, size,
                                {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->enqueue(copy_work(on, src_offset, dst_offset, size),
                             submission(CL_COMMAND_COPY_BUFFER, list, event));
  });
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer,
                                       const void* pattern, size_t pattern_size, size_t offset,
                                       size_t size, cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueFillBuffer", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on,
                 validate::fill(command_queue, buffer, pattern, pattern_size, offset, size,
                                {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->enqueue(fill_work(on, pattern, pattern_size, offset, size),
                             submission(CL_COMMAND_FILL_BUFFER, list, event));
  });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue command_queue, cl_mem buffer,
                                           cl_bool blocking_read, const size_t* buffer_origin,
                                           const size_t* host_origin, const size_t* region,
                                           size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                           size_t host_row_pitch, size_t host_slice_pitch,
                                           void* ptr, cl_uint num_events_in_wait_list,
                                           const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueReadBufferRect", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::rect(Direction::kRead, command_queue, buffer,
                                {buffer_origin, buffer_row_pitch, buffer_slice_pitch},
                                {host_origin, host_row_pitch, host_slice_pitch}, region, ptr,
                                {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(
        RectWork{false, call.on.buffer->view(), call.buffer_rect, call.host_rect, call.region, ptr},
        submission(CL_COMMAND_READ_BUFFER_RECT, list, event, blocking_read != 0));
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue command_queue, cl_mem buffer,
                                            cl_bool blocking_write, const size_t* buffer_origin,
                                            const size_t* host_origin, const size_t* region,
                                            size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            const void* ptr, cl_uint num_events_in_wait_list,
                                            const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueWriteBufferRect", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::rect(Direction::kWrite, command_queue, buffer,
                                {buffer_origin, buffer_row_pitch, buffer_slice_pitch},
                                {host_origin, host_row_pitch, host_slice_pitch}, region, ptr,
                                {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(
        RectWork{true, call.on.buffer->view(), call.buffer_rect, call.host_rect, call.region,
                 const_cast<void*>(ptr)},  // only read from
        submission(CL_COMMAND_WRITE_BUFFER_RECT, list, event, blocking_write != 0));
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue command_queue, cl_mem src_buffer,
                                           cl_mem dst_buffer, const size_t* src_origin,
                                           const size_t* dst_origin, const size_t* region,
                                           size_t src_row_pitch, size_t src_slice_pitch,
                                           size_t dst_row_pitch, size_t dst_slice_pitch,
                                           cl_uint num_events_in_wait_list,
                                           const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueCopyBufferRect", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::copy_rect(command_queue, src_buffer, dst_buffer,
                                     {src_origin, src_row_pitch, src_slice_pitch},
                                     {dst_origin, dst_row_pitch, dst_slice_pitch}, region,
                                     {num_events_in_wait_list, event_wait_list}, list));
    return call.on.queue->enqueue(copy_rect_work(call),
                                  submission(CL_COMMAND_COPY_BUFFER_RECT, list, event));
  });
}

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer,
                                     cl_bool blocking_map, cl_map_flags map_flags, size_t offset,
                                     size_t size, cl_uint num_events_in_wait_list,
                                     const cl_event* event_wait_list, cl_event* event,
                                     cl_int* errcode_ret) {
  return entry_object("clEnqueueMapBuffer", errcode_ret, [&]() -> Result<void*> {
    WaitList list;
    TUTTI_ASSIGN(const auto on, validate::map(command_queue, buffer, map_flags, offset, size,
                                              {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->map(*on.buffer, map_flags, offset, size,
                         submission(CL_COMMAND_MAP_BUFFER, list, event, blocking_map != 0));
  });
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj,
                                           void* mapped_ptr, cl_uint num_events_in_wait_list,
                                           const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueUnmapMemObject", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto on, validate::unmap(command_queue, memobj,
                                                {num_events_in_wait_list, event_wait_list}, list));
    return on.queue->unmap(*on.buffer, mapped_ptr,
                           submission(CL_COMMAND_UNMAP_MEM_OBJECT, list, event));
  });
}

// "clEnqueueMigrateMemObjects provides a mechanism for assigning which device an OpenCL memory
// object resides. … a hint": the directory moves what is needed when it is needed.
cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue command_queue,
                                              cl_uint num_mem_objects, const cl_mem* mem_objects,
                                              cl_mem_migration_flags flags,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMigrateMemObjects", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::migrate(command_queue, num_mem_objects, mem_objects, flags,
                                   {num_events_in_wait_list, event_wait_list}, list));
    return queue->enqueue(no_work(), submission(CL_COMMAND_MIGRATE_MEM_OBJECTS, list, event));
  });
}

cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue command_queue,
                                         void(CL_CALLBACK* user_func)(void*), void* args,
                                         size_t cb_args, cl_uint num_mem_objects,
                                         const cl_mem* mem_list, const void** args_mem_loc,
                                         cl_uint num_events_in_wait_list,
                                         const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueNativeKernel", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(const auto call,
                 validate::native_kernel(command_queue,
                                         {reinterpret_cast<const void*>(user_func), args, cb_args,
                                          num_mem_objects, mem_list, args_mem_loc},
                                         {num_events_in_wait_list, event_wait_list}, list));
    return call.queue->native_kernel(user_func, {static_cast<const std::byte*>(args), cb_args},
                                     call.buffers,
                                     submission(CL_COMMAND_NATIVE_KERNEL, list, event));
  });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue command_queue,
                                               cl_uint num_events_in_wait_list,
                                               const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueMarkerWithWaitList", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(
        auto* const queue,
        validate::only_waits(command_queue, {num_events_in_wait_list, event_wait_list}, list));
    return queue->enqueue(MarkerWork{}, submission(CL_COMMAND_MARKER, list, event));
  });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue command_queue,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event) {
  return entry("clEnqueueBarrierWithWaitList", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(
        auto* const queue,
        validate::only_waits(command_queue, {num_events_in_wait_list, event_wait_list}, list));
    Submission how = submission(CL_COMMAND_BARRIER, list, event);
    how.barrier = true;
    return queue->enqueue(MarkerWork{}, how);
  });
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue command_queue, cl_event* event) {
  return entry("clEnqueueMarker", [&]() -> Status {
    TUTTI_ASSIGN(auto* const queue, validate::legacy_marker(command_queue, event));
    return queue->enqueue(MarkerWork{}, submission(CL_COMMAND_MARKER, {}, event));
  });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue command_queue) {
  return entry("clEnqueueBarrier", [&]() -> Status {
    TUTTI_ASSIGN(auto* const queue, validate::queue(command_queue));
    Submission how = submission(CL_COMMAND_BARRIER, {}, nullptr);
    how.barrier = true;
    return queue->enqueue(MarkerWork{}, how);
  });
}

// "The commands enqueued after it wait for the events": a barrier with a wait list.
cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue command_queue, cl_uint num_events,
                                          const cl_event* event_list) {
  return entry("clEnqueueWaitForEvents", [&]() -> Status {
    WaitList list;
    TUTTI_ASSIGN(auto* const queue,
                 validate::legacy_wait(command_queue, {num_events, event_list}, list));
    Submission how = submission(CL_COMMAND_BARRIER, list, nullptr);
    how.barrier = true;
    return queue->enqueue(MarkerWork{}, how);
  });
}

}  // namespace tutti::icd
