// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/gl_object.h"

namespace tutti::device_virtual {
namespace {

// Targets, by the numbers that OpenGL's headers give them, which we do not need otherwise.
enum Target : cl_uint {
  kTexture1D = 0x0DE0,
  kTexture2D = 0x0DE1,
  kTexture3D = 0x806F,
  kRectangle = 0x84F5,
  kCubeFirst = 0x8515,  // GL_TEXTURE_CUBE_MAP_POSITIVE_X …
  kCubeLast = 0x851A,   // … GL_TEXTURE_CUBE_MAP_NEGATIVE_Z
  kTexture1DArray = 0x8C18,
  kTexture2DArray = 0x8C1A,
  kTextureBuffer = 0x8C2A,
};

}  // namespace

std::optional<cl_gl_object_type> texture_object_type(cl_uint target) {
  if (target >= kCubeFirst && target <= kCubeLast) return CL_GL_OBJECT_TEXTURE2D;
  switch (target) {
    case kTexture1D:
      return CL_GL_OBJECT_TEXTURE1D;
    case kTexture2D:
    case kRectangle:
      return CL_GL_OBJECT_TEXTURE2D;
    case kTexture3D:
      return CL_GL_OBJECT_TEXTURE3D;
    case kTexture1DArray:
      return CL_GL_OBJECT_TEXTURE1D_ARRAY;
    case kTexture2DArray:
      return CL_GL_OBJECT_TEXTURE2D_ARRAY;
    case kTextureBuffer:
      return CL_GL_OBJECT_TEXTURE_BUFFER;
    default:
      return std::nullopt;
  }
}

cl_gl_object_type gl_object_type(const backends::GlObject& object) {
  switch (object.kind) {
    case backends::GlObject::Kind::kBuffer:
      return CL_GL_OBJECT_BUFFER;
    case backends::GlObject::Kind::kRenderbuffer:
      return CL_GL_OBJECT_RENDERBUFFER;
    case backends::GlObject::Kind::kTexture:
      break;
  }
  return texture_object_type(object.target).value_or(CL_GL_OBJECT_TEXTURE2D);
}

Status gl_texture_info(const backends::GlObject& texture, cl_gl_texture_info what,
                       const InfoAnswer& answer) {
  switch (what) {
    case CL_GL_TEXTURE_TARGET:
      return answer.value<cl_GLenum>(texture.target);
    case CL_GL_MIPMAP_LEVEL:
      return answer.value<cl_GLint>(texture.level);
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
