// SPDX-License-Identifier: Apache-2.0
// Recording functions of calls that make objects from more than their arguments' types tell, and
// of those that pass functions of the application.
#include "icd/recorder/recorded_call.h"

#include <cstring>
#include <memory>
#include <vector>

#include "device_virtual/buffer.h"
#include "device_virtual/image_format.h"
#include "icd/recorder/recording_functions.h"

namespace tutti::icd::recorder {
namespace {

using record::Value;

cl_int CL_API_CALL get_platform_ids(cl_uint num_entries, cl_platform_id* platforms,
                                    cl_uint* num_platforms) {
  RecordedCall call("clGetPlatformIDs", {});
  call.arguments(num_entries, platforms, num_platforms);
  const cl_int code = icd::clGetPlatformIDs(num_entries, platforms, num_platforms);
  if (code == CL_SUCCESS && platforms != nullptr && num_entries > 0) call.found(platforms[0]);
  call.finish(code);
  return code;
}

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint num_entries,
                                  cl_device_id* devices, cl_uint* num_devices) {
  RecordedCall call("clGetDeviceIDs", {});
  call.arguments(platform, type, num_entries, devices, num_devices);
  const cl_int code = icd::clGetDeviceIDs(platform, type, num_entries, devices, num_devices);
  if (code == CL_SUCCESS && devices != nullptr) call.found(devices[0]);  // there is only one
  call.finish(code);
  return code;
}

cl_int CL_API_CALL create_sub_devices(cl_device_id device,
                                      const cl_device_partition_property* properties,
                                      cl_uint num_devices, cl_device_id* devices,
                                      cl_uint* num_devices_ret) {
  RecordedCall call("clCreateSubDevices", {});
  call.arguments(device, properties, num_devices, devices, num_devices_ret);
  cl_uint count = 0;
  const cl_int code = icd::clCreateSubDevices(device, properties, num_devices, devices, &count);
  if (num_devices_ret != nullptr && code == CL_SUCCESS) *num_devices_ret = count;
  for (cl_uint i = 0; code == CL_SUCCESS && devices != nullptr && i < count; ++i) {
    call.created(devices[i]);
  }
  call.finish(code);
  return code;
}

/// What memory objects begin with. Where the application keeps writing to it behind OpenCL's back,
/// that is lost.
void note_host_pointer(RecordedCall& call, cl_mem_flags flags, const HostRegion& region,
                       cl_mem memory = nullptr) {
  if (region.begin == nullptr) return;
  // Shared virtual memory may not be the host's to read now.
  const auto* const object = device_virtual::from_handle<device_virtual::Buffer>(memory);
  if (object != nullptr && object->view().buffer->shared_apart()) {
    call.guarded([&] {
      const std::vector<std::byte> unknown(region.size());
      call.set_pointee(HostRegion::bytes(unknown.data(), unknown.size()));
    });
    return;
  }
  call.set_pointee(region);
  if ((flags & CL_MEM_USE_HOST_PTR) == 0) return;
  call.guarded([&] {
    call.recorder().note_once(
        "a memory object uses the application's memory (CL_MEM_USE_HOST_PTR): what the application "
        "writes there is recorded when it unmaps it, and otherwise not");
  });
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                 void* host_ptr, cl_int* errcode_ret) {
  RecordedCall call("clCreateBuffer", {});
  cl_int* const code = call.passed(errcode_ret);
  cl_mem const buffer = icd::clCreateBuffer(context, flags, size, host_ptr, code);
  if (buffer) note_host_pointer(call, flags, HostRegion::bytes(host_ptr, size), buffer);
  call.arguments(context, flags, size, host_ptr, errcode_ret);
  call.created(buffer);
  call.finish(*code);
  return buffer;
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                 const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host_ptr,
                                                 cl_int* errcode_ret) {
  RecordedCall call("clCreateBufferWithProperties", {.sizes = 0});
  cl_int* const code = call.passed(errcode_ret);
  cl_mem const buffer =
      icd::clCreateBufferWithProperties(context, properties, flags, size, host_ptr, code);
  if (note_external(call, buffer)) properties = nullptr;
  if (buffer) note_host_pointer(call, flags, HostRegion::bytes(host_ptr, size), buffer);
  const auto* const object = device_virtual::from_handle<device_virtual::Buffer>(buffer);
  if (call.active() && object != nullptr && object->has_device_address()) {
    call.guarded([&] {
      call.recorder().note_once(
          "a buffer has an address on the device, which another device does not give it: launches "
          "that use it cannot be replayed");
    });
  }
  call.arguments(context, properties, flags, size, host_ptr, errcode_ret);
  call.created(buffer);
  call.finish(*code);
  return buffer;
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* info, cl_int* errcode_ret) {
  RecordedCall call("clCreateSubBuffer", {});
  if (info != nullptr && type == CL_BUFFER_CREATE_TYPE_REGION) {
    call.guarded([&] {
      call.set_pointee(
          Value::of_bytes(std::as_bytes(std::span(static_cast<const cl_buffer_region*>(info), 1))));
    });
  }
  call.arguments(buffer, flags, type, info, errcode_ret);
  cl_int* const code = call.passed(errcode_ret);
  cl_mem const part = icd::clCreateSubBuffer(buffer, flags, type, info, code);
  call.created(part);
  call.finish(*code);
  return part;
}

/// The pixels that an image is made from; the pitches go, since the rows are recorded packed.
HostRegion image_content(const cl_image_format& format, cl_image_desc& image, void* host_ptr) {
  HostRegion region;
  region.begin = static_cast<std::byte*>(host_ptr);
  region.row_bytes = device_virtual::pixel_size(format) * image.image_width;
  const unsigned dimensions = device_virtual::image_dimensions(image.image_type);
  const bool array = device_virtual::is_image_array(image.image_type);
  region.rows = dimensions >= 2 ? image.image_height : 1;
  region.slices = array ? image.image_array_size : dimensions == 3 ? image.image_depth : 1;
  region.row_pitch = image.image_row_pitch != 0 ? image.image_row_pitch : region.row_bytes;
  region.slice_pitch =
      image.image_slice_pitch != 0 ? image.image_slice_pitch : region.rows * region.row_pitch;
  image.image_row_pitch = image.image_slice_pitch = 0;
  return region;
}

template <typename Create, typename... Front>
cl_mem create_image_of(RecordedCall& call, Create create, const cl_image_format* format,
                       const cl_image_desc* image, cl_mem_flags flags, void* host_ptr,
                       cl_int* errcode_ret, const Front&... front) {
  cl_int* const code = call.passed(errcode_ret);
  cl_mem const made = create(code);
  cl_image_desc packed{};
  if (made && host_ptr != nullptr) {
    packed = *image;
    note_host_pointer(call, flags, image_content(*format, packed, host_ptr));
    image = &packed;
  }
  call.arguments(front..., flags, format, image, host_ptr, errcode_ret);
  call.created(made);
  call.finish(*code);
  return made;
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                const cl_image_format* format, const cl_image_desc* image,
                                void* host_ptr, cl_int* errcode_ret) {
  RecordedCall call("clCreateImage", {});
  return create_image_of(
      call,
      [&](cl_int* code) {
        return icd::clCreateImage(context, flags, format, image, host_ptr, code);
      },
      format, image, flags, host_ptr, errcode_ret, context);
}

cl_mem CL_API_CALL create_image_with_properties(cl_context context,
                                                const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* image, void* host_ptr,
                                                cl_int* errcode_ret) {
  RecordedCall call("clCreateImageWithProperties", {.sizes = 0});
  return create_image_of(
      call,
      [&](cl_int* code) {
        const cl_mem made = icd::clCreateImageWithProperties(context, properties, flags, format,
                                                             image, host_ptr, code);
        if (note_external(call, made)) properties = nullptr;
        return made;
      },
      format, image, flags, host_ptr, errcode_ret, context, properties);
}

// The two functions of OpenCL 1.1 are recorded as what they mean.
cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* format, size_t width, size_t height,
                                   size_t row_pitch, void* host_ptr, cl_int* errcode_ret) {
  RecordedCall call("clCreateImage", {});
  cl_image_desc image{};
  image.image_type = CL_MEM_OBJECT_IMAGE2D;
  image.image_width = width;
  image.image_height = height;
  image.image_row_pitch = row_pitch;
  return create_image_of(
      call,
      [&](cl_int* code) {
        return icd::clCreateImage2D(context, flags, format, width, height, row_pitch, host_ptr,
                                    code);
      },
      format, &image, flags, host_ptr, errcode_ret, context);
}

cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* format, size_t width, size_t height,
                                   size_t depth, size_t row_pitch, size_t slice_pitch,
                                   void* host_ptr, cl_int* errcode_ret) {
  RecordedCall call("clCreateImage", {});
  cl_image_desc image{};
  image.image_type = CL_MEM_OBJECT_IMAGE3D;
  image.image_width = width;
  image.image_height = height;
  image.image_depth = depth;
  image.image_row_pitch = row_pitch;
  image.image_slice_pitch = slice_pitch;
  return create_image_of(
      call,
      [&](cl_int* code) {
        return icd::clCreateImage3D(context, flags, format, width, height, depth, row_pitch,
                                    slice_pitch, host_ptr, code);
      },
      format, &image, flags, host_ptr, errcode_ret, context);
}

cl_program CL_API_CALL create_program_with_source(cl_context context, cl_uint count,
                                                  const char** strings, const size_t* lengths,
                                                  cl_int* errcode_ret) {
  RecordedCall call("clCreateProgramWithSource", {});
  cl_int* const code = call.passed(errcode_ret);
  cl_program const program = icd::clCreateProgramWithSource(context, count, strings, lengths, code);
  const void* source = nullptr;
  std::string text;
  call.guarded([&] {
    for (cl_uint i = 0; program && i < count; ++i) {
      const size_t length = lengths != nullptr ? lengths[i] : 0;
      text.append(strings[i], length != 0 ? length : strlen(strings[i]));
    }
    source = text.data();
  });
  if (program) call.set_pointee(HostRegion::bytes(text.data(), text.size()));
  call.arguments(context, count, source);  // all strings as one
  call.created(program);
  call.finish(*code);
  return program;
}

cl_program CL_API_CALL create_program_with_binary(cl_context context, cl_uint num_devices,
                                                  const cl_device_id* devices,
                                                  const size_t* lengths,
                                                  const unsigned char** binaries,
                                                  cl_int* binary_status, cl_int* errcode_ret) {
  RecordedCall call("clCreateProgramWithBinary", {});
  cl_int* const code = call.passed(errcode_ret);
  cl_program const program = icd::clCreateProgramWithBinary(context, num_devices, devices, lengths,
                                                            binaries, binary_status, code);
  call.arguments(context, num_devices, devices);
  for (cl_uint i = 0; program && i < num_devices; ++i) {
    call.set_pointee(HostRegion::bytes(binaries[i], lengths[i]));
    call.arguments(static_cast<const void*>(binaries[i]));
  }
  call.created(program);
  call.finish(*code);
  return program;
}

cl_int CL_API_CALL create_kernels_in_program(cl_program program, cl_uint num_kernels,
                                             cl_kernel* kernels, cl_uint* num_kernels_ret) {
  RecordedCall call("clCreateKernelsInProgram", {});
  call.arguments(program, num_kernels, kernels, num_kernels_ret);
  cl_uint count = 0;
  const cl_int code = icd::clCreateKernelsInProgram(program, num_kernels, kernels, &count);
  if (num_kernels_ret != nullptr && code == CL_SUCCESS) *num_kernels_ret = count;
  for (cl_uint i = 0; code == CL_SUCCESS && kernels != nullptr && i < count; ++i) {
    call.created(kernels[i]);
  }
  call.finish(code);
  return code;
}

/// Bytes are a handle where one of that value exists: a number that equals an address of ours is as
/// good as impossible.
Value argument_value(Recorder& recorder, size_t size, const void* value) {
  if (size == sizeof(void*)) {
    const void* handle = nullptr;
    std::memcpy(&handle, value, sizeof handle);
    for (const auto kind :
         {record::ObjectKind::kMemory, record::ObjectKind::kSampler, record::ObjectKind::kQueue}) {
      const record::Object object = recorder.object_of(kind, handle);
      if (object.number != 0 && object.number != record::kUnknownObject) {
        return Value::of_object(object);
      }
    }
  }
  return Value::of_bytes({static_cast<const std::byte*>(value), size});
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  RecordedCall call("clSetKernelArg", {});
  const cl_int code = icd::clSetKernelArg(kernel, index, size, value);
  // After a wrong size nobody knows how much may be read there.
  if (code == CL_SUCCESS && value != nullptr) {
    call.guarded([&] { call.set_pointee(argument_value(call.recorder(), size, value)); });
  }
  call.arguments(kernel, index, size, value);
  call.finish(code);
  return code;
}

struct EventCallback {
  void(CL_CALLBACK* function)(cl_event, cl_int, void*);
  void* user_data;
};

void CL_CALLBACK forward_event(cl_event event, cl_int status, void* user_data) {
  const std::unique_ptr<EventCallback> callback(static_cast<EventCallback*>(user_data));
  if (Recorder* recorder = Recorder::current()) {
    try {
      recorder->write_ended();
    } catch (...) {
      recorder->stop("out of memory");
    }
  }
  callback->function(event, status, callback->user_data);
}

cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                      void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                                      void* user_data) {
  RecordedCall call("clSetEventCallback", {});
  std::unique_ptr<EventCallback> callback(new (std::nothrow) EventCallback{function, user_data});
  if (!call.active() || function == nullptr || !callback) {
    return icd::clSetEventCallback(event, type, function, user_data);
  }
  call.arguments(event, type, reinterpret_cast<const void*>(function), user_data);
  EventCallback* const handed_over = callback.release();
  const cl_int code = icd::clSetEventCallback(event, type, &forward_event, handed_over);
  if (code != CL_SUCCESS) delete handed_over;
  call.finish(code);
  return code;
}

cl_int CL_API_CALL set_destructor(cl_mem memory, void(CL_CALLBACK* function)(cl_mem, void*),
                                  void* user_data) {
  RecordedCall call("clSetMemObjectDestructorCallback", {});
  call.arguments(memory, reinterpret_cast<const void*>(function), user_data);
  const cl_int code = icd::clSetMemObjectDestructorCallback(memory, function, user_data);
  call.finish(code);
  return code;
}

}  // namespace

void add_object_calls(cl_icd_dispatch& table) {
  table.clGetPlatformIDs = &get_platform_ids;
  table.clGetDeviceIDs = &get_device_ids;
  table.clCreateSubDevices = &create_sub_devices;
  table.clCreateBuffer = &create_buffer;
  table.clCreateBufferWithProperties = &create_buffer_with_properties;
  table.clCreateSubBuffer = &create_sub_buffer;
  table.clCreateImage = &create_image;
  table.clCreateImageWithProperties = &create_image_with_properties;
  table.clCreateImage2D = &create_image_2d;
  table.clCreateImage3D = &create_image_3d;
  table.clCreateProgramWithSource = &create_program_with_source;
  table.clCreateProgramWithBinary = &create_program_with_binary;
  table.clCreateKernelsInProgram = &create_kernels_in_program;
  table.clSetKernelArg = &set_kernel_arg;
  table.clSetEventCallback = &set_event_callback;
  table.clSetMemObjectDestructorCallback = &set_destructor;
}

}  // namespace tutti::icd::recorder
