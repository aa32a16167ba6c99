// SPDX-License-Identifier: Apache-2.0
// Recording functions of commands that move data between the application and memory objects, or
// whose sizes have as many elements as an argument says.
#include "icd/recorder/recorded_call.h"

#include "device_virtual/buffer.h"
#include "icd/recorder/recording_functions.h"

namespace tutti::icd::recorder {
namespace {

using record::Value;

constexpr Shape kTells{.tells = true};

HostRegion rectangle(const void* host, const size_t* origin, const size_t* region, size_t row_pitch,
                     size_t slice_pitch) {
  if (row_pitch == 0) row_pitch = region[0];
  if (slice_pitch == 0) slice_pitch = region[1] * row_pitch;
  auto* begin = static_cast<std::byte*>(const_cast<void*>(host));
  if (origin != nullptr) begin += origin[0] + origin[1] * row_pitch + origin[2] * slice_pitch;
  return {begin, region[0], region[1], region[2], row_pitch, slice_pitch};
}

/// `image` was accepted by a command with this region.
HostRegion image_rectangle(cl_mem image, const void* host, const size_t* region, size_t row_pitch,
                           size_t slice_pitch) {
  const auto* object = device_virtual::from_handle<device_virtual::Buffer>(image);
  size_t pixel = 0;
  icd::clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, nullptr);
  size_t bytes[3] = {region[0] * pixel, region[1], region[2]};
  // The layers of an array of lines lie a slice's pitch apart.
  if (object->type() == CL_MEM_OBJECT_IMAGE1D_ARRAY && slice_pitch != 0) row_pitch = slice_pitch;
  return rectangle(host, nullptr, bytes, row_pitch, slice_pitch);
}

// Of a command that fails nothing can be told about the memory behind its pointers: data are looked
// at once it has succeeded. For a write that is before the application may change them.

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void* ptr, cl_uint num_events,
                               const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueReadBuffer", kTells);
  call.watch();
  call.arguments(queue, buffer, blocking, offset, size, ptr, num_events, events, event);
  const cl_int code = icd::clEnqueueReadBuffer(queue, buffer, blocking, offset, size, ptr,
                                               num_events, events, call.passed(event));
  call.finish(code, HostRegion::bytes(ptr, size));
  return code;
}

cl_int CL_API_CALL read_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t* buffer_origin, const size_t* host_origin,
                                    const size_t* region, size_t buffer_row_pitch,
                                    size_t buffer_slice_pitch, size_t host_row_pitch,
                                    size_t host_slice_pitch, void* ptr, cl_uint num_events,
                                    const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueReadBufferRect", kTells);
  call.watch();
  call.arguments(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row_pitch,
                 buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_events, events,
                 event);
  const cl_int code =
      icd::clEnqueueReadBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region,
                                   buffer_row_pitch, buffer_slice_pitch, host_row_pitch,
                                   host_slice_pitch, ptr, num_events, events, call.passed(event));
  call.finish(code, code == CL_SUCCESS
                        ? rectangle(ptr, host_origin, region, host_row_pitch, host_slice_pitch)
                        : HostRegion{});
  return code;
}

cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                              const size_t* origin, const size_t* region, size_t row_pitch,
                              size_t slice_pitch, void* ptr, cl_uint num_events,
                              const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueReadImage", kTells);
  call.watch();
  call.arguments(queue, image, blocking, origin, region, row_pitch, slice_pitch, ptr, num_events,
                 events, event);
  const cl_int code =
      icd::clEnqueueReadImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, ptr,
                              num_events, events, call.passed(event));
  call.finish(code, code == CL_SUCCESS ? image_rectangle(image, ptr, region, row_pitch, slice_pitch)
                                       : HostRegion{});
  return code;
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, const void* ptr, cl_uint num_events,
                                const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueWriteBuffer", kTells);
  const cl_int code = icd::clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, ptr,
                                                num_events, events, call.passed(event));
  if (code == CL_SUCCESS) call.set_pointee(HostRegion::bytes(ptr, size));
  call.arguments(queue, buffer, blocking, offset, size, ptr, num_events, events, event);
  call.finish(code);
  return code;
}

// The rows are recorded packed, so the arguments say that they lie so.
cl_int CL_API_CALL write_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t* buffer_origin, const size_t* host_origin,
                                     const size_t* region, size_t buffer_row_pitch,
                                     size_t buffer_slice_pitch, size_t host_row_pitch,
                                     size_t host_slice_pitch, const void* ptr, cl_uint num_events,
                                     const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueWriteBufferRect", kTells);
  const cl_int code =
      icd::clEnqueueWriteBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region,
                                    buffer_row_pitch, buffer_slice_pitch, host_row_pitch,
                                    host_slice_pitch, ptr, num_events, events, call.passed(event));
  constexpr size_t kZero[3] = {};
  if (code == CL_SUCCESS) {
    call.set_pointee(rectangle(ptr, host_origin, region, host_row_pitch, host_slice_pitch));
    host_origin = kZero;
    host_row_pitch = host_slice_pitch = 0;
  }
  call.arguments(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row_pitch,
                 buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, num_events, events,
                 event);
  call.finish(code);
  return code;
}

cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                               const size_t* origin, const size_t* region, size_t row_pitch,
                               size_t slice_pitch, const void* ptr, cl_uint num_events,
                               const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueWriteImage", kTells);
  const cl_int code =
      icd::clEnqueueWriteImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, ptr,
                               num_events, events, call.passed(event));
  if (code == CL_SUCCESS) {
    call.set_pointee(image_rectangle(image, ptr, region, row_pitch, slice_pitch));
    row_pitch = slice_pitch = 0;
  }
  call.arguments(queue, image, blocking, origin, region, row_pitch, slice_pitch, ptr, num_events,
                 events, event);
  call.finish(code);
  return code;
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                               size_t pattern_size, size_t offset, size_t size, cl_uint num_events,
                               const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueFillBuffer", {});
  const cl_int code = icd::clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size,
                                               num_events, events, call.passed(event));
  if (code == CL_SUCCESS) {
    call.guarded([&] {
      call.set_pointee(Value::of_bytes({static_cast<const std::byte*>(pattern), pattern_size}));
    });
  }
  call.arguments(queue, buffer, pattern, pattern_size, offset, size, num_events, events, event);
  call.finish(code);
  return code;
}

cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void* color,
                              const size_t* origin, const size_t* region, cl_uint num_events,
                              const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueFillImage", {});
  const cl_int code = icd::clEnqueueFillImage(queue, image, color, origin, region, num_events,
                                              events, call.passed(event));
  if (code == CL_SUCCESS) {
    // "a four component … value", of one float for depth images.
    cl_image_format format{};
    icd::clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, nullptr);
    const size_t size = format.image_channel_order == CL_DEPTH ? 4 : 16;
    call.guarded([&] {
      call.set_pointee(Value::of_bytes({static_cast<const std::byte*>(color), size}));
    });
  }
  call.arguments(queue, image, color, origin, region, num_events, events, event);
  call.finish(code);
  return code;
}

/// The common end of both maps: their data are what the application reads, or will have written.
void finish_map(RecordedCall& call, cl_mem memory, cl_map_flags flags, const void* pointer,
                cl_int code, const HostRegion& region) {
  call.finish(code, region);
  if (pointer == nullptr) return;
  call.guarded([&] {
    call.recorder().add_mapping({memory, pointer, call.begin(), flags != CL_MAP_READ, region});
  });
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                             cl_map_flags flags, size_t offset, size_t size, cl_uint num_events,
                             const cl_event* events, cl_event* event, cl_int* errcode_ret) {
  RecordedCall call("clEnqueueMapBuffer", kTells);
  if ((flags & CL_MAP_READ) != 0) call.watch();
  call.arguments(queue, buffer, blocking, flags, offset, size, num_events, events, event,
                 errcode_ret);
  cl_int* const code = call.passed(errcode_ret);
  void* const pointer = icd::clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
                                                num_events, events, call.passed(event), code);
  finish_map(call, buffer, flags, pointer, *code, HostRegion::bytes(pointer, size));
  return pointer;
}

void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                            cl_map_flags flags, const size_t* origin, const size_t* region,
                            size_t* row_pitch, size_t* slice_pitch, cl_uint num_events,
                            const cl_event* events, cl_event* event, cl_int* errcode_ret) {
  RecordedCall call("clEnqueueMapImage", kTells);
  if ((flags & CL_MAP_READ) != 0) call.watch();
  call.arguments(queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, num_events,
                 events, event, errcode_ret);
  cl_int* const code = call.passed(errcode_ret);
  void* const pointer =
      icd::clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_pitch, slice_pitch,
                             num_events, events, call.passed(event), code);
  HostRegion rows;
  if (pointer != nullptr) {
    rows = image_rectangle(image, pointer, region, *row_pitch,
                           slice_pitch != nullptr ? *slice_pitch : 0);
  }
  finish_map(call, image, flags, pointer, *code, rows);
  return pointer;
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* pointer, cl_uint num_events,
                         const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueUnmapMemObject", {});
  Recorder::Mapping mapping;
  // Before the memory is given back. Recorded as what was written there, and which call mapped it.
  call.guarded([&] {
    mapping = call.recorder().take_mapping(memory, pointer);
    if (mapping.call != 0 && mapping.writes) call.set_pointee(mapping.region);
  });
  call.arguments(queue, memory, pointer, num_events, events, event, mapping.call);
  const cl_int code =
      icd::clEnqueueUnmapMemObject(queue, memory, pointer, num_events, events, call.passed(event));
  if (code != CL_SUCCESS && mapping.call != 0) {
    call.guarded([&] { call.recorder().add_mapping(mapping); });
  }
  call.finish(code);
  return code;
}

cl_int CL_API_CALL nd_range_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim,
                                   const size_t* offset, const size_t* global, const size_t* local,
                                   cl_uint num_events, const cl_event* events, cl_event* event) {
  const size_t dimensions = work_dim >= 1 && work_dim <= 3 ? work_dim : 1;
  RecordedCall call("clEnqueueNDRangeKernel", {.sizes = dimensions, .timed = true});
  call.arguments(queue, kernel, work_dim, offset, global, local, num_events, events, event);
  const cl_int code = icd::clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global, local,
                                                  num_events, events, call.passed(event));
  call.finish(code);
  return code;
}

cl_int CL_API_CALL native_kernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*),
                                 void* arguments, size_t size, cl_uint num_objects,
                                 const cl_mem* objects, const void** places, cl_uint num_events,
                                 const cl_event* events, cl_event* event) {
  RecordedCall call("clEnqueueNativeKernel", {});
  call.guarded([&] {
    call.recorder().note_once(
        "a native kernel is a function of the application: what it writes is not recorded, and "
        "replay passes over it");
  });
  call.arguments(queue, reinterpret_cast<const void*>(function), arguments, size, num_objects,
                 objects, static_cast<const void*>(places), num_events, events, event);
  const cl_int code =
      icd::clEnqueueNativeKernel(queue, function, arguments, size, num_objects, objects, places,
                                 num_events, events, call.passed(event));
  call.finish(code);
  return code;
}

}  // namespace

void add_transfer_calls(cl_icd_dispatch& table) {
  table.clEnqueueReadBuffer = &read_buffer;
  table.clEnqueueReadBufferRect = &read_buffer_rect;
  table.clEnqueueReadImage = &read_image;
  table.clEnqueueWriteBuffer = &write_buffer;
  table.clEnqueueWriteBufferRect = &write_buffer_rect;
  table.clEnqueueWriteImage = &write_image;
  table.clEnqueueFillBuffer = &fill_buffer;
  table.clEnqueueFillImage = &fill_image;
  table.clEnqueueMapBuffer = &map_buffer;
  table.clEnqueueMapImage = &map_image;
  table.clEnqueueUnmapMemObject = &unmap;
  table.clEnqueueNDRangeKernel = &nd_range_kernel;
  table.clEnqueueNativeKernel = &native_kernel;
}

}  // namespace tutti::icd::recorder
