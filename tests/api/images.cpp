// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <algorithm>

namespace tutti::api_tests {

// Sizes that divide by nothing.
const std::vector<ImageKind> kImageKinds = {
    {"image1d", CL_MEM_OBJECT_IMAGE1D, {37, 1, 1}},
    {"image1d_array", CL_MEM_OBJECT_IMAGE1D_ARRAY, {23, 7, 1}},
    {"image2d", CL_MEM_OBJECT_IMAGE2D, {29, 13, 1}},
    {"image2d_array", CL_MEM_OBJECT_IMAGE2D_ARRAY, {11, 9, 5}},
    {"image3d", CL_MEM_OBJECT_IMAGE3D, {13, 7, 6}},
};

Pixels::Pixels(const Extent& box, size_t pixel_size, uint32_t seed)
    : extent(box), size(pixel_size), bytes(noise(box[0] * box[1] * box[2] * pixel_size, seed)) {}

void Pixels::paste(const Pixels& source, const Extent& origin) {
  for (size_t z = 0; z < source.extent[2]; ++z) {
    for (size_t y = 0; y < source.extent[1]; ++y) {
      std::memcpy(at(origin[0], origin[1] + y, origin[2] + z), source.at(0, y, z),
                  source.extent[0] * size);
    }
  }
}

Pixels Pixels::cut(const Extent& origin, const Extent& region) const {
  Pixels part(region, size, 1);
  for (size_t z = 0; z < region[2]; ++z) {
    for (size_t y = 0; y < region[1]; ++y) {
      std::memcpy(part.at(0, y, z), at(origin[0], origin[1] + y, origin[2] + z), region[0] * size);
    }
  }
  return part;
}

void ImageTest::SetUp() {
  QueueTest::SetUp();
  if (HasFatalFailure()) return;
  if (value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) == CL_FALSE) {
    GTEST_SKIP() << "the device has no images";
  }
}

Buffer ImageTest::make_image(const ImageKind& kind, const cl_image_format& format,
                             cl_mem_flags flags, void* host_ptr, size_t row_pitch,
                             size_t slice_pitch) const {
  cl_image_desc description = {};
  description.image_type = kind.type;
  description.image_width = kind.extent[0];
  description.image_row_pitch = row_pitch;
  description.image_slice_pitch = slice_pitch;
  switch (kind.type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      description.image_array_size = kind.extent[1];
      break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      description.image_height = kind.extent[1];
      description.image_array_size = kind.extent[2];
      break;
    case CL_MEM_OBJECT_IMAGE2D:
      description.image_height = kind.extent[1];
      break;
    case CL_MEM_OBJECT_IMAGE3D:
      description.image_height = kind.extent[1];
      description.image_depth = kind.extent[2];
      break;
    default:
      break;
  }
  cl_int code = CL_SUCCESS;
  Buffer image(clCreateImage(context_, flags, &format, &description, host_ptr, &code));
  EXPECT_SUCCESS(code) << kind.name;
  return image;
}

Buffer ImageTest::upload(const ImageKind& kind, const cl_image_format& format,
                         const Pixels& pixels) const {
  Buffer image = make_image(kind, format);
  EXPECT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, zero_.data(), kind.extent.data(), 0, 0,
                                     pixels.bytes.data(), 0, nullptr, nullptr));
  return image;
}

Pixels ImageTest::download(cl_mem image, const Extent& origin, const Extent& region,
                           size_t pixel_size) const {
  Pixels pixels(region, pixel_size, 77);
  EXPECT_SUCCESS(clEnqueueReadImage(queue_, image, CL_TRUE, origin.data(), region.data(), 0, 0,
                                    pixels.bytes.data(), 0, nullptr, nullptr));
  return pixels;
}

Sampler ImageTest::make_sampler(cl_addressing_mode addressing, cl_filter_mode filter,
                                bool normalized) const {
  cl_int code = CL_SUCCESS;
  Sampler sampler(
      clCreateSampler(context_, normalized ? CL_TRUE : CL_FALSE, addressing, filter, &code));
  EXPECT_SUCCESS(code);
  return sampler;
}

}  // namespace tutti::api_tests
