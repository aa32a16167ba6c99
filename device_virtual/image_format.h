// SPDX-License-Identifier: Apache-2.0
// Image formats: the specification's tables of channel orders and data types; boxes of pixels. Pure
// functions.
#pragma once

#include <CL/cl.h>

#include <cstddef>

#include "backends/api/backend.h"

namespace tutti::device_virtual {

/// Bytes of one pixel; 0 for a combination that the specification does not allow (tables "Image
/// Channel Order Values" and "Image Channel Data Type Values").
size_t pixel_size(const cl_image_format& format);

inline bool boxes_overlap(const backends::ImageBox& a, const backends::ImageBox& b) {
  for (size_t d = 0; d < 3; ++d) {
    if (a.origin[d] >= b.origin[d] + b.extent[d] || b.origin[d] >= a.origin[d] + a.extent[d]) {
      return false;
    }
  }
  return true;
}

/// 1, 2 or 3; 0 for something that is no image type.
unsigned image_dimensions(cl_mem_object_type type);
bool is_image_array(cl_mem_object_type type);

}  // namespace tutti::device_virtual
