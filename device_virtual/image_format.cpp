// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/image_format.h"

#include <CL/cl_ext.h>

namespace tutti::device_virtual {
namespace {

size_t channels(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_A:
    case CL_Rx:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_DEPTH:
      return 1;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
      return 2;
    case CL_RGB:
    case CL_RGBx:
    case CL_sRGB:
    case CL_sRGBx:
      return 3;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR:
    case CL_sRGBA:
    case CL_sBGRA:
      return 4;
    default:
      return 0;
  }
}

/// Bytes of one channel; 0 for packed and unknown types.
size_t channel_size(cl_channel_type type) {
  switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
      return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
      return 4;
    default:
      return 0;
  }
}

bool is_normalized_or_float(cl_channel_type type) {
  return type == CL_UNORM_INT8 || type == CL_UNORM_INT16 || type == CL_SNORM_INT8 ||
         type == CL_SNORM_INT16 || type == CL_HALF_FLOAT || type == CL_FLOAT;
}

bool is_8_bit(cl_channel_type type) {
  return type == CL_UNORM_INT8 || type == CL_SNORM_INT8 || type == CL_SIGNED_INT8 ||
         type == CL_UNSIGNED_INT8;
}

}  // namespace

size_t pixel_size(const cl_image_format& format) {
  const cl_channel_order order = format.image_channel_order;
  const cl_channel_type type = format.image_channel_data_type;
  const size_t single = channels(order) * channel_size(type);
  switch (order) {
    case CL_INTENSITY:
    case CL_LUMINANCE:
      // "Can only be used if channel data type = CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8,
      // CL_SNORM_INT16, CL_HALF_FLOAT, or CL_FLOAT."
      return is_normalized_or_float(type) ? single : 0;
    case CL_RGB:
    case CL_RGBx:
      // "Can only be used if channel data type = CL_UNORM_SHORT_565, CL_UNORM_SHORT_555,
      // CL_UNORM_INT_101010 [or CL_UNORM_INT_101010_2]."
      if (type == CL_UNORM_SHORT_565 || type == CL_UNORM_SHORT_555) return 2;
      return type == CL_UNORM_INT_101010 ? 4 : 0;
    case CL_ARGB:
    case CL_BGRA:
    case CL_ABGR:
      // "Can only be used if channel data type = CL_UNORM_INT8, CL_SNORM_INT8, CL_SIGNED_INT8 or
      // CL_UNSIGNED_INT8."
      return is_8_bit(type) ? single : 0;
    case CL_DEPTH:
      // "Can only be used if channel data type = CL_UNORM_INT16 or CL_FLOAT."
      return type == CL_UNORM_INT16 || type == CL_FLOAT ? single : 0;
    case CL_sRGB:
    case CL_sRGBx:
    case CL_sRGBA:
    case CL_sBGRA:
      // "Can only be used if channel data type = CL_UNORM_INT8."
      return type == CL_UNORM_INT8 ? single : 0;
    case CL_RGBA:
      if (type == CL_UNORM_INT_101010_2) return 4;
      return single;
    default:
      return single;
  }
}

unsigned image_dimensions(cl_mem_object_type type) {
  switch (type) {
    case CL_MEM_OBJECT_IMAGE1D:
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return 1;
    case CL_MEM_OBJECT_IMAGE2D:
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return 2;
    case CL_MEM_OBJECT_IMAGE3D:
      return 3;
    default:
      return 0;
  }
}

bool is_image_array(cl_mem_object_type type) {
  return type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
}

}  // namespace tutti::device_virtual
