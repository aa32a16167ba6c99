// SPDX-License-Identifier: Apache-2.0
// Memory that another interface has made: a replay has neither that interface nor its objects. What
// is made from an object of OpenGL is recorded as a buffer or image of that size.
#include "device_virtual/buffer.h"
#include "device_virtual/image_format.h"
#include "icd/recorder/recorded_call.h"
#include "icd/recorder/recording_functions.h"

namespace tutti::icd::recorder {
namespace {

cl_mem CL_API_CALL create_from_buffer(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                      int* errcode_ret) {
  RecordedCall call("clCreateBuffer", {});
  cl_int* const code = call.passed(errcode_ret);
  const cl_mem made = icd::clCreateFromGLBuffer(context, flags, name, code);
  const auto* const object = device_virtual::from_handle<device_virtual::Buffer>(made);
  note_external(call, made);
  void* const none = nullptr;
  call.arguments(context, flags, size_t{object != nullptr ? object->size() : 0}, none, errcode_ret);
  call.created(made);
  call.finish(*code);
  return made;
}

cl_image_desc description_of(const backends::ImageShape& shape) {
  const unsigned dimensions = device_virtual::image_dimensions(shape.type);
  cl_image_desc image{};
  image.image_type = shape.type;
  image.image_width = shape.extent[0];
  if (dimensions >= 2) image.image_height = shape.extent[1];
  if (dimensions == 3) image.image_depth = shape.extent[2];
  if (device_virtual::is_image_array(shape.type)) image.image_array_size = shape.extent[dimensions];
  return image;
}

/// `create(code)` makes it.
template <typename Create>
cl_mem record_image(cl_context context, cl_mem_flags flags, cl_int* errcode_ret, Create create) {
  RecordedCall call("clCreateImage", {});
  cl_int* const code = call.passed(errcode_ret);
  const cl_mem made = create(code);
  const auto* const object = device_virtual::from_handle<device_virtual::Buffer>(made);
  note_external(call, made);
  backends::ImageShape shape;
  if (object != nullptr && object->image() != nullptr) shape = *object->image();
  const cl_image_desc image = description_of(shape);
  const cl_image_format* const format = &shape.format;
  const cl_image_desc* const description = &image;
  void* const none = nullptr;
  call.arguments(context, flags, format, description, none, errcode_ret);
  call.created(made);
  call.finish(*code);
  return made;
}

cl_mem CL_API_CALL create_from_renderbuffer(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                            cl_int* errcode_ret) {
  return record_image(context, flags, errcode_ret, [&](cl_int* code) {
    return icd::clCreateFromGLRenderbuffer(context, flags, name, code);
  });
}

/// `kCreate`: clCreateFromGLTexture, or one of the two functions of OpenCL 1.1.
template <auto kCreate>
cl_mem CL_API_CALL create_from_texture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                       cl_GLint level, cl_GLuint name, cl_int* errcode_ret) {
  return record_image(context, flags, errcode_ret, [&](cl_int* code) {
    return kCreate(context, flags, target, level, name, code);
  });
}

}  // namespace

bool note_external(RecordedCall& call, cl_mem memory) {
  const auto* const object = device_virtual::from_handle<device_virtual::Buffer>(memory);
  if (!call.active() || object == nullptr || !object->is_external()) return false;
  note_not_recorded(call, object->gl_object() != nullptr
                              ? "objects of OpenGL are not recorded: a replay has memory without "
                                "their content in their place"
                              : "memory of other interfaces is not recorded: a replay has memory "
                                "without its content in its place");
  return true;
}

void* gl_function(std::string_view name) {
  if (name == "clCreateFromGLBuffer") return reinterpret_cast<void*>(&create_from_buffer);
  if (name == "clCreateFromGLRenderbuffer") {
    return reinterpret_cast<void*>(&create_from_renderbuffer);
  }
  if (name == "clCreateFromGLTexture") {
    return reinterpret_cast<void*>(&create_from_texture<&icd::clCreateFromGLTexture>);
  }
  return nullptr;
}

void add_gl_calls(cl_icd_dispatch& table) {
  table.clCreateFromGLBuffer = &create_from_buffer;
  table.clCreateFromGLRenderbuffer = &create_from_renderbuffer;
  table.clCreateFromGLTexture = &create_from_texture<&icd::clCreateFromGLTexture>;
  table.clCreateFromGLTexture2D = &create_from_texture<&icd::clCreateFromGLTexture2D>;
  table.clCreateFromGLTexture3D = &create_from_texture<&icd::clCreateFromGLTexture3D>;
}

}  // namespace tutti::icd::recorder
