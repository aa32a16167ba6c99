// SPDX-License-Identifier: Apache-2.0
// What tests of images share: kinds of images, and pixels in the host's memory as the reference.
#pragma once

#include "fixtures.h"

namespace tutti::api_tests {

using Sampler = Handle<cl_sampler, clReleaseSampler>;
using Extent = std::array<size_t, 3>;

struct ImageKind {
  const char* name;
  cl_mem_object_type type;
  Extent extent;  // as regions have it: layers of an array in the second or third place
};
extern const std::vector<ImageKind> kImageKinds;

/// Pixels of `size` bytes in a tightly packed box.
struct Pixels {
  Extent extent{};
  size_t size = 4;
  std::vector<uint8_t> bytes;

  Pixels() = default;
  Pixels(const Extent& box, size_t pixel_size, uint32_t seed);
  uint8_t* at(size_t x, size_t y, size_t z) {
    return bytes.data() + ((z * extent[1] + y) * extent[0] + x) * size;
  }
  const uint8_t* at(size_t x, size_t y, size_t z) const {
    return const_cast<Pixels*>(this)->at(x, y, z);
  }
  /// Puts `source` into this box.
  void paste(const Pixels& source, const Extent& origin);
  Pixels cut(const Extent& origin, const Extent& region) const;
};

class ImageTest : public QueueTest {
 protected:
  void SetUp() override;
  Buffer make_image(const ImageKind& kind, const cl_image_format& format,
                    cl_mem_flags flags = CL_MEM_READ_WRITE, void* host_ptr = nullptr,
                    size_t row_pitch = 0, size_t slice_pitch = 0) const;
  Buffer upload(const ImageKind& kind, const cl_image_format& format, const Pixels& pixels) const;
  Pixels download(cl_mem image, const Extent& origin, const Extent& region,
                  size_t pixel_size) const;
  Sampler make_sampler(cl_addressing_mode addressing, cl_filter_mode filter,
                       bool normalized = false) const;

  const Extent zero_{0, 0, 0};
};

constexpr cl_image_format kRgba8 = {CL_RGBA, CL_UNSIGNED_INT8};
constexpr cl_image_format kRgbaFloat = {CL_RGBA, CL_FLOAT};

}  // namespace tutti::api_tests
