// SPDX-License-Identifier: Apache-2.0
// Checks of cl_khr_gl_sharing, but for its commands. Pure functions, thread-safe.
#pragma once

#include <CL/cl_gl.h>

#include <span>
#include <vector>

#include "icd/validate/common.h"

namespace tutti::icd::validate {

/// Of clCreateContext's properties: those that name a context of OpenGL, and where it is. They are
/// known where the device shares objects with OpenGL.
bool is_gl_property(cl_context_properties name);
bool shares_gl();

/// What of a list of properties, which is valid by itself, a vendor's context is to have so that it
/// shares with OpenGL; empty: it does not. CL_INVALID_OPERATION,
/// CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR.
Result<backends::ContextProperties> gl_properties(
    const std::vector<cl_context_properties>& properties,
    std::span<const Ref<device_virtual::Device>> devices);

struct GlContextInfo {
  backends::ContextProperties properties;
  bool current = false;  // the one device is asked for, where the OpenGL context is
};
Result<GlContextInfo> gl_context_info(const cl_context_properties* properties,
                                      cl_gl_context_info what);

struct CreateFromGl {
  device_virtual::Context* context = nullptr;
  device_virtual::Buffer::Options options;
};
/// Of objects of each kind; whether there is such an object is the vendor's to say.
Result<CreateFromGl> create_from_gl(const char* entry_point, cl_context context, cl_mem_flags flags,
                                    const backends::GlObject& object);
/// The same of clCreateFromGLTexture2D and clCreateFromGLTexture3D, which take textures of that
/// type alone.
Result<CreateFromGl> create_from_gl_texture_of(const char* entry_point, cl_gl_object_type type,
                                               cl_context context, cl_mem_flags flags,
                                               const backends::GlObject& object);

/// What a memory object was made from: CL_INVALID_MEM_OBJECT, CL_INVALID_GL_OBJECT.
Result<const backends::GlObject*> gl_object(cl_mem memory);
Result<const backends::GlObject*> gl_texture(cl_mem memory);

}  // namespace tutti::icd::validate
