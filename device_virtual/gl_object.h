// SPDX-License-Identifier: Apache-2.0
// What a memory object tells of the object of OpenGL that it is. Pure functions.
#pragma once

#include <CL/cl_gl.h>

#include <optional>

#include "backends/api/backend.h"
#include "device_virtual/info.h"

namespace tutti::device_virtual {

/// Of a texture target that OpenCL takes; absent: of no other.
std::optional<cl_gl_object_type> texture_object_type(cl_uint target);
/// CL_GL_OBJECT_BUFFER …
cl_gl_object_type gl_object_type(const backends::GlObject& object);
/// clGetGLTextureInfo, of a texture.
Status gl_texture_info(const backends::GlObject& texture, cl_gl_texture_info what,
                       const InfoAnswer& answer);

}  // namespace tutti::device_virtual
