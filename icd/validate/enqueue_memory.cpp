// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/enqueue_memory.h"

#include <bit>

#include "icd/validate/rectangle.h"

namespace tutti::icd::validate {
namespace {

using device_virtual::Buffer;
using device_virtual::CommandQueue;

Result<OnTwoBuffers> on_two_buffers(cl_command_queue queue_handle, cl_mem from, cl_mem to) {
  OnTwoBuffers on;
  TUTTI_ASSIGN(const OnBuffer source, on_buffer(queue_handle, from));
  TUTTI_ASSIGN(const OnBuffer target, on_buffer(queue_handle, to));
  on.queue = source.queue;
  on.from = source.buffer;
  on.to = target.buffer;
  return on;
}

bool inside(const Buffer& buffer, size_t offset, size_t size) {
  return offset <= buffer.size() && size <= buffer.size() - offset;
}

}  // namespace

Result<OnBuffer> read_or_write(Direction direction, cl_command_queue queue_handle,
                               cl_mem buffer_handle, size_t offset, size_t size, const void* host,
                               RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(const OnBuffer on, on_buffer(queue_handle, buffer_handle));
  // "CL_INVALID_VALUE if the region being read or written specified by (offset, size) is out of
  // bounds or if ptr is a NULL value."
  if (!inside(*on.buffer, offset, size) || host == nullptr) {
    return tutti::fail(CL_INVALID_VALUE, "out of bounds, or ptr is NULL");
  }
  TUTTI_TRY(check_waits(on.queue, waits, list));
  TUTTI_TRY(may_be_accessed(*on.buffer, direction));
  return on;
}

Result<OnBuffer> fill(cl_command_queue queue_handle, cl_mem buffer_handle, const void* pattern,
                      size_t pattern_size, size_t offset, size_t size, RawWaitList waits,
                      WaitList& list) {
  TUTTI_ASSIGN(const OnBuffer on, on_buffer(queue_handle, buffer_handle));
  // "CL_INVALID_VALUE if offset or offset + size require accessing elements outside the buffer".
  if (!inside(*on.buffer, offset, size)) return tutti::fail(CL_INVALID_VALUE, "out of bounds");
  // "CL_INVALID_VALUE if pattern is NULL or if pattern_size is 0 or if pattern_size is not one of
  // { 1, 2, 4, 8, 16, 32, 64, 128 }."
  if (pattern == nullptr || !std::has_single_bit(pattern_size) || pattern_size > 128) {
    return tutti::fail(CL_INVALID_VALUE, "no pattern, or not of a permitted size");
  }
  // "CL_INVALID_VALUE if offset and size are not a multiple of pattern_size."
  if (offset % pattern_size != 0 || size % pattern_size != 0) {
    return tutti::fail(CL_INVALID_VALUE, "offset or size is not a multiple of pattern_size");
  }
  TUTTI_TRY(check_waits(on.queue, waits, list));
  return on;
}

Result<OnBuffer> map(cl_command_queue queue_handle, cl_mem buffer_handle, cl_map_flags flags,
                     size_t offset, size_t size, RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(const OnBuffer on, on_buffer(queue_handle, buffer_handle));
  // "CL_INVALID_VALUE if region being mapped given by (offset, size) is out of bounds or if size is
  // 0 or if values specified in map_flags are not valid."
  if (size == 0 || !inside(*on.buffer, offset, size)) {
    return tutti::fail(CL_INVALID_VALUE, "out of bounds, or empty");
  }
  TUTTI_TRY(map_flags(flags));
  TUTTI_TRY(check_waits(on.queue, waits, list));
  TUTTI_TRY(may_be_mapped(*on.buffer, flags));
  return on;
}

Result<OnBuffer> unmap(cl_command_queue queue_handle, cl_mem memory, RawWaitList waits,
                       WaitList& list) {
  TUTTI_ASSIGN(const OnBuffer on, on_memory(queue_handle, memory));
  // "CL_INVALID_VALUE if mapped_ptr is not a valid pointer returned by clEnqueueMapBuffer": found
  // by the call itself, since another thread may unmap meanwhile.
  TUTTI_TRY(check_waits(on.queue, waits, list));
  return on;
}

Result<OnTwoBuffers> copy(cl_command_queue queue_handle, cl_mem from, cl_mem to, size_t from_offset,
                          size_t to_offset, size_t size, RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(const OnTwoBuffers on, on_two_buffers(queue_handle, from, to));
  // "CL_INVALID_VALUE if src_offset, dst_offset, size, src_offset + size or dst_offset + size
  // require accessing elements outside the src_buffer and dst_buffer buffer objects respectively."
  if (!inside(*on.from, from_offset, size) || !inside(*on.to, to_offset, size)) {
    return tutti::fail(CL_INVALID_VALUE, "out of bounds");
  }
  TUTTI_TRY(check_waits(on.queue, waits, list));
  // "CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and
  // the source and destination regions overlap or if src_buffer and dst_buffer are different
  // sub-buffers of the same associated buffer object and they overlap."
  const uint64_t source = on.from->origin() + from_offset;
  const uint64_t target = on.to->origin() + to_offset;
  if (on.from->same_storage(*on.to) && source < target + size && target < source + size) {
    return tutti::fail(CL_MEM_COPY_OVERLAP, "source and destination overlap");
  }
  return on;
}

Result<RectOnBuffer> rect(Direction direction, cl_command_queue queue_handle, cl_mem buffer_handle,
                          RawRect buffer_rect, RawRect host_rect, const size_t* region,
                          const void* host, RawWaitList waits, WaitList& list) {
  RectOnBuffer call;
  TUTTI_ASSIGN(call.on, on_buffer(queue_handle, buffer_handle));
  // "CL_INVALID_VALUE if buffer_origin, host_origin, or region is NULL." "CL_INVALID_VALUE if the
  // region being read or written specified by (buffer_origin, region, buffer_row_pitch,
  // buffer_slice_pitch) is out of bounds." "CL_INVALID_VALUE if ptr is a NULL value."
  TUTTI_ASSIGN(call.region, region_of(region));
  TUTTI_ASSIGN(call.buffer_rect, rectangle_of(buffer_rect, call.region));
  TUTTI_ASSIGN(call.host_rect, rectangle_of(host_rect, call.region));
  if (!within(call.buffer_rect, call.region, call.on.buffer->size())) {
    return tutti::fail(CL_INVALID_VALUE, "the region is out of bounds");
  }
  if (host == nullptr) return tutti::fail(CL_INVALID_VALUE, "ptr is NULL");
  TUTTI_TRY(check_waits(call.on.queue, waits, list));
  TUTTI_TRY(may_be_accessed(*call.on.buffer, direction));
  return call;
}

Result<RectOnTwoBuffers> copy_rect(cl_command_queue queue_handle, cl_mem from, cl_mem to,
                                   RawRect from_rect, RawRect to_rect, const size_t* region,
                                   RawWaitList waits, WaitList& list) {
  RectOnTwoBuffers call;
  TUTTI_ASSIGN(call.on, on_two_buffers(queue_handle, from, to));
  TUTTI_ASSIGN(call.region, region_of(region));
  TUTTI_ASSIGN(call.from_rect, rectangle_of(from_rect, call.region));
  TUTTI_ASSIGN(call.to_rect, rectangle_of(to_rect, call.region));
  if (!within(call.from_rect, call.region, call.on.from->size()) ||
      !within(call.to_rect, call.region, call.on.to->size())) {
    return tutti::fail(CL_INVALID_VALUE, "the region is out of bounds");
  }
  // "CL_INVALID_VALUE if src_buffer and dst_buffer are the same buffer object and src_slice_pitch
  // is not equal to dst_slice_pitch and src_row_pitch is not equal to dst_row_pitch."
  if (call.on.from == call.on.to && (call.from_rect.row_pitch != call.to_rect.row_pitch ||
                                     call.from_rect.slice_pitch != call.to_rect.slice_pitch)) {
    return tutti::fail(CL_INVALID_VALUE, "one buffer cannot have two pitches");
  }
  TUTTI_TRY(check_waits(call.on.queue, waits, list));
  // "CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and
  // the source and destination regions overlap or if src_buffer and dst_buffer are different
  // sub-buffers of the same associated buffer object and they overlap."
  if (call.on.from->same_storage(*call.on.to) &&
      overlap(call.from_rect, call.on.from->origin(), call.to_rect, call.on.to->origin(),
              call.region)) {
    return tutti::fail(CL_MEM_COPY_OVERLAP, "source and destination overlap");
  }
  return call;
}

Result<CommandQueue*> migrate(cl_command_queue queue_handle, cl_uint count, const cl_mem* objects,
                              cl_mem_migration_flags flags, RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(auto* const found, queue(queue_handle));
  // "CL_INVALID_VALUE if num_mem_objects is zero or if mem_objects is NULL." (Before the objects
  // can be looked at.)
  if (count == 0 || objects == nullptr) return tutti::fail(CL_INVALID_VALUE, "no memory objects");
  for (cl_uint i = 0; i < count; ++i) {
    // "CL_INVALID_CONTEXT if the context associated with command_queue and memory objects in
    // mem_objects are not the same". "CL_INVALID_MEM_OBJECT if any of the memory objects in
    // mem_objects is not a valid memory object."
    TUTTI_TRY(on_memory(queue_handle, objects[i]));
  }
  // "CL_INVALID_VALUE if flags is not 0 or is not any of the values described in the table above."
  if ((flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) != 0) {
    return tutti::fail(CL_INVALID_VALUE, "unknown migration flags");
  }
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

Result<CommandQueue*> only_waits(cl_command_queue queue_handle, RawWaitList waits, WaitList& list) {
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN(auto* const found, queue(queue_handle));
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

Result<CommandQueue*> legacy_marker(cl_command_queue queue_handle, const cl_event* event) {
  TUTTI_ASSIGN(auto* const found, queue(queue_handle));
  // OpenCL 1.1, clEnqueueMarker: "CL_INVALID_VALUE if event is a NULL value."
  if (event == nullptr) return tutti::fail(CL_INVALID_VALUE, "event is NULL");
  return found;
}

Result<CommandQueue*> legacy_wait(cl_command_queue queue_handle, RawWaitList waits,
                                  WaitList& list) {
  TUTTI_ASSIGN(auto* const found, queue(queue_handle));
  // OpenCL 1.1, clEnqueueWaitForEvents: "CL_INVALID_VALUE if num_events is zero or event_list is
  // NULL." "CL_INVALID_EVENT if event objects specified in event_list are not valid events."
  if (waits.count == 0 || waits.events == nullptr)
    return tutti::fail(CL_INVALID_VALUE, "no events");
  for (cl_uint i = 0; i < waits.count; ++i) TUTTI_TRY(event(waits.events[i]));
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

Result<NativeKernel> native_kernel(cl_command_queue queue_handle, const RawNativeKernel& call,
                                   RawWaitList waits, WaitList& list) {
  NativeKernel result;
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN(result.queue, queue(queue_handle));
  // "CL_INVALID_VALUE if user_func is NULL."
  if (call.function == nullptr) return tutti::fail(CL_INVALID_VALUE, "user_func is NULL");
  // "CL_INVALID_VALUE if args is a NULL value and cb_args > 0, or if args is a NULL value and
  // num_mem_objects > 0"; "if args is not NULL and cb_args is 0".
  if ((call.args == nullptr) != (call.args_size == 0) || (call.args == nullptr && call.count > 0)) {
    return tutti::fail(CL_INVALID_VALUE, "args, cb_args and num_mem_objects do not agree");
  }
  // "CL_INVALID_VALUE if num_mem_objects > 0 and mem_list or args_mem_loc are NULL"; "if
  // num_mem_objects = 0 and mem_list or args_mem_loc are not NULL".
  if ((call.count == 0) != (call.objects == nullptr) ||
      (call.count == 0) != (call.places == nullptr)) {
    return tutti::fail(CL_INVALID_VALUE, "num_mem_objects and the lists do not agree");
  }
  // "CL_INVALID_OPERATION if the device associated with command_queue cannot execute the native
  // kernel."
  if (!result.queue->device().capabilities().native_kernels) {
    return tutti::fail(CL_INVALID_OPERATION, "the device executes no native kernels");
  }
  for (cl_uint i = 0; i < call.count; ++i) {
    device_virtual::CommandQueue::NativeBuffer entry;
    // "mem_list is a list of valid buffer objects" or NULLs; "CL_INVALID_MEM_OBJECT if one or more
    // memory objects specified in mem_list are not valid or are not buffer objects."
    if (call.objects[i] != nullptr) {
      TUTTI_ASSIGN(entry.buffer, buffer(call.objects[i]));
      if (&entry.buffer->context() != &result.queue->context()) {
        return tutti::fail(CL_INVALID_CONTEXT, "queue and buffer are of different contexts");
      }
    }
    // "args_mem_loc is a pointer to appropriate locations that args points to".
    const auto begin = reinterpret_cast<uintptr_t>(call.args);
    const auto place = reinterpret_cast<uintptr_t>(call.places[i]);
    if (call.args_size < sizeof(cl_mem) || place < begin ||
        place - begin > call.args_size - sizeof(cl_mem)) {
      return tutti::fail(CL_INVALID_VALUE, "args_mem_loc points outside args");
    }
    entry.offset = place - begin;
    result.buffers.push_back(entry);
  }
  TUTTI_TRY(wait_list(result.queue->context(), waits.count, waits.events, list));
  return result;
}

}  // namespace tutti::icd::validate
