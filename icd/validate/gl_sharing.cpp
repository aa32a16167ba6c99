// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/gl_sharing.h"

#include <algorithm>

#include "device_virtual/gl_object.h"
#include "icd/validate/context.h"
#include "icd/validate/unsupported.h"
#include "platform/composition.h"

namespace tutti::icd::validate {
namespace {

using backends::GlObject;

/// Of one that is not there: its default.
cl_context_properties value_of(const std::vector<cl_context_properties>& properties,
                               cl_context_properties name) {
  for (size_t i = 0; i + 1 < properties.size(); i += 2) {
    if (properties[i] == name) return properties[i + 1];
  }
  return 0;
}

}  // namespace

bool is_gl_property(cl_context_properties name) {
  return name == CL_GL_CONTEXT_KHR || name == CL_EGL_DISPLAY_KHR || name == CL_GLX_DISPLAY_KHR ||
         name == CL_WGL_HDC_KHR || name == CL_CGL_SHAREGROUP_KHR;
}

bool shares_gl() {
  const platform::Composition* const all = platform::composition();
  return all != nullptr && all->device->capabilities().sharing.gl;
}

Result<backends::ContextProperties> gl_properties(
    const std::vector<cl_context_properties>& properties,
    std::span<const Ref<device_virtual::Device>> devices) {
  const auto given = [&](cl_context_properties name) { return value_of(properties, name); };
  // "CL_INVALID_OPERATION if … A context or share group object was specified for one of CGL, EGL,
  // GLX, or WGL and the OpenGL implementation does not support that window-system binding API."
  if (given(CL_WGL_HDC_KHR) != 0 || given(CL_CGL_SHAREGROUP_KHR) != 0) {
    return fail(CL_INVALID_OPERATION, "OpenGL is not bound to a window system of that kind");
  }
  // "More than one of the attributes CL_CGL_SHAREGROUP_KHR, CL_EGL_DISPLAY_KHR, CL_GLX_DISPLAY_KHR,
  // and CL_WGL_HDC_KHR is set to a non-default value."
  if (given(CL_EGL_DISPLAY_KHR) != 0 && given(CL_GLX_DISPLAY_KHR) != 0) {
    return fail(CL_INVALID_OPERATION, "displays of EGL and of GLX");
  }
  if (given(CL_GL_CONTEXT_KHR) == 0) return backends::ContextProperties{};
  // "Any of the devices specified in the devices argument cannot support OpenCL objects which share
  // the data store of an OpenGL object."
  for (const Ref<device_virtual::Device>& device : devices) {
    if (!device->capabilities().sharing.gl) {
      return fail(CL_INVALID_OPERATION, "the device shares no objects with OpenGL");
    }
  }
  // "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR if … The specified display and context attributes do
  // not identify a valid OpenGL or OpenGL ES context." Others are the vendor's to tell.
  if (given(CL_EGL_DISPLAY_KHR) == 0 && given(CL_GLX_DISPLAY_KHR) == 0) {
    return fail(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR, "a context of OpenGL without a display");
  }
  backends::ContextProperties shared;
  for (size_t i = 0; i + 1 < properties.size(); i += 2) {
    const cl_context_properties name = properties[i], value = properties[i + 1];
    if ((is_gl_property(name) && value != 0) || name == CL_CONTEXT_INTEROP_USER_SYNC) {
      shared.insert(shared.end(), {name, value});
    }
  }
  return shared;
}

Result<GlContextInfo> gl_context_info(const cl_context_properties* properties,
                                      cl_gl_context_info what) {
  if (!shares_gl()) {
    say_once("clGetGLContextInfoKHR");
    return fail(CL_INVALID_OPERATION, "the device shares no objects with OpenGL");
  }
  TUTTI_ASSIGN(const auto list, context_properties(properties));
  const Ref<device_virtual::Device> device(platform::composition()->device);
  GlContextInfo call;
  TUTTI_ASSIGN(call.properties, gl_properties(list, {&device, 1}));
  // "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR if a context was specified by [no such attributes]".
  if (call.properties.empty()) {
    return fail(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR, "no context of OpenGL is named");
  }
  // "CL_INVALID_VALUE if an attribute name other than [these two] is specified in param_name".
  if (what != CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR && what != CL_DEVICES_FOR_GL_CONTEXT_KHR) {
    return fail(CL_INVALID_VALUE, "not a supported query");
  }
  call.current = what == CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR;
  return call;
}

Result<CreateFromGl> create_from_gl(const char* entry_point, cl_context context_handle,
                                    cl_mem_flags flags, const GlObject& object) {
  CreateFromGl call;
  // "CL_INVALID_CONTEXT if context is not a valid context or was not created from a GL context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  if (!call.context->capabilities().sharing.gl) {
    return tl::unexpected<Error>(unsupported_in_context(entry_point, context_handle).error());
  }
  if (!call.context->shares_gl()) {
    return fail(CL_INVALID_CONTEXT, "the context shares no objects with OpenGL");
  }
  // "CL_INVALID_VALUE if values specified in flags are not valid": "Only CL_MEM_READ_ONLY,
  // CL_MEM_WRITE_ONLY and CL_MEM_READ_WRITE … can be used."
  if (flags != 0 && flags != CL_MEM_READ_ONLY && flags != CL_MEM_WRITE_ONLY &&
      flags != CL_MEM_READ_WRITE) {
    return fail(CL_INVALID_VALUE, "invalid memory flags");
  }
  // "… or if value specified in texture_target is not one of the values specified in the
  // description of texture_target."
  const bool texture = object.kind == GlObject::Kind::kTexture;
  if (texture && !device_virtual::texture_object_type(object.target)) {
    return fail(CL_INVALID_VALUE, "not a texture target that OpenCL takes");
  }
  if (object.kind != GlObject::Kind::kBuffer && !call.context->capabilities().images) {
    return fail(CL_INVALID_OPERATION, "the device has no images");
  }
  call.options.flags = flags == 0 ? CL_MEM_READ_WRITE : flags;
  call.options.gl = object;
  return call;
}

Result<CreateFromGl> create_from_gl_texture_of(const char* entry_point, cl_gl_object_type type,
                                               cl_context context_handle, cl_mem_flags flags,
                                               const GlObject& object) {
  TUTTI_ASSIGN(auto call, create_from_gl(entry_point, context_handle, flags, object));
  if (device_virtual::gl_object_type(object) != type) {
    return fail(CL_INVALID_VALUE, "a texture target of another function");
  }
  return call;
}

Result<const GlObject*> gl_object(cl_mem memory_handle) {
  // "CL_INVALID_MEM_OBJECT if memobj is not a valid OpenCL memory object."
  TUTTI_ASSIGN(const auto* const found, memory(memory_handle));
  // "CL_INVALID_GL_OBJECT if there is no GL object associated with memobj."
  if (found->gl_object() == nullptr) return fail(CL_INVALID_GL_OBJECT, "no object of OpenGL");
  return found->gl_object();
}

Result<const GlObject*> gl_texture(cl_mem memory_handle) {
  TUTTI_ASSIGN(const GlObject* const object, gl_object(memory_handle));
  // "CL_INVALID_GL_OBJECT if there is no GL texture object associated with memobj."
  if (object->kind != GlObject::Kind::kTexture) {
    return fail(CL_INVALID_GL_OBJECT, "no texture of OpenGL");
  }
  return object;
}

}  // namespace tutti::icd::validate
