// SPDX-License-Identifier: Apache-2.0
// Entry points of cl_khr_gl_sharing, but for its commands. Where the device does not offer it, each
// gives the error that the specification has for that.
#include "icd/validate/gl_sharing.h"

#include <utility>

#include "device_virtual/gl_object.h"
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

using backends::GlObject;

Result<cl_mem> made(Result<validate::CreateFromGl> call) {
  if (!call) return tl::unexpected<Error>(std::move(call).error());
  TUTTI_ASSIGN(auto* const object,
               device_virtual::Buffer::create(*call->context, std::move(call->options)));
  return object->handle();
}

cl_mem create(const char* name, cl_context context, cl_mem_flags flags, const GlObject& object,
              cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_mem> {
    return made(validate::create_from_gl(name, context, flags, object));
  });
}

cl_mem create_texture_of(const char* name, cl_gl_object_type type, cl_context context,
                         cl_mem_flags flags, const GlObject& object, cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_mem> {
    return made(validate::create_from_gl_texture_of(name, type, context, flags, object));
  });
}

GlObject texture_object(cl_GLenum target, cl_GLint level, cl_GLuint texture) {
  return {GlObject::Kind::kTexture, texture, target, level};
}

}  // namespace

cl_int CL_API_CALL clGetGLContextInfoKHR(const cl_context_properties* properties,
                                         cl_gl_context_info param_name, size_t param_value_size,
                                         void* param_value, size_t* param_value_size_ret) {
  return entry("clGetGLContextInfoKHR", [&]() -> Status {
    TUTTI_ASSIGN(const auto call, validate::gl_context_info(properties, param_name));
    const platform::Composition& all = *platform::composition();
    TUTTI_ASSIGN(const bool ours, all.backends->at(all.backends->primary(all.device->backends()))
                                      .is_of_gl_context(call.properties, call.current));
    const cl_device_id device = all.device->handle();
    const device_virtual::InfoAnswer answer{param_value_size, param_value, param_value_size_ret};
    return answer.list(std::span<const cl_device_id>(&device, ours ? 1 : 0));
  });
}

cl_mem CL_API_CALL clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint bufobj,
                                        int* errcode_ret) {
  return create("clCreateFromGLBuffer", context, flags, {GlObject::Kind::kBuffer, bufobj},
                errcode_ret);
}

cl_mem CL_API_CALL clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags flags,
                                              cl_GLuint renderbuffer, cl_int* errcode_ret) {
  return create("clCreateFromGLRenderbuffer", context, flags,
                {GlObject::Kind::kRenderbuffer, renderbuffer}, errcode_ret);
}

cl_mem CL_API_CALL clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                         cl_GLint miplevel, cl_GLuint texture,
                                         cl_int* errcode_ret) {
  return create("clCreateFromGLTexture", context, flags, texture_object(target, miplevel, texture),
                errcode_ret);
}

cl_mem CL_API_CALL clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                           cl_GLint miplevel, cl_GLuint texture,
                                           cl_int* errcode_ret) {
  return create_texture_of("clCreateFromGLTexture2D", CL_GL_OBJECT_TEXTURE2D, context, flags,
                           texture_object(target, miplevel, texture), errcode_ret);
}

cl_mem CL_API_CALL clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                           cl_GLint miplevel, cl_GLuint texture,
                                           cl_int* errcode_ret) {
  return create_texture_of("clCreateFromGLTexture3D", CL_GL_OBJECT_TEXTURE3D, context, flags,
                           texture_object(target, miplevel, texture), errcode_ret);
}

cl_int CL_API_CALL clGetGLObjectInfo(cl_mem memobj, cl_gl_object_type* gl_object_type,
                                     cl_GLuint* gl_object_name) {
  return entry("clGetGLObjectInfo", [&]() -> Status {
    TUTTI_ASSIGN(const GlObject* const object, validate::gl_object(memobj));
    if (gl_object_type != nullptr) *gl_object_type = device_virtual::gl_object_type(*object);
    if (gl_object_name != nullptr) *gl_object_name = object->name;
    return {};
  });
}

cl_int CL_API_CALL clGetGLTextureInfo(cl_mem memobj, cl_gl_texture_info param_name,
                                      size_t param_value_size, void* param_value,
                                      size_t* param_value_size_ret) {
  return entry("clGetGLTextureInfo", [&]() -> Status {
    TUTTI_ASSIGN(const GlObject* const object, validate::gl_texture(memobj));
    return device_virtual::gl_texture_info(*object, param_name,
                                           {param_value_size, param_value, param_value_size_ret});
  });
}

}  // namespace tutti::icd
