// SPDX-License-Identifier: Apache-2.0
#include "images.h"

namespace tutti::api_tests {
namespace {

class ClCreateImage : public ImageTest {
 protected:
  template <typename T>
  T info(cl_mem image, cl_image_info param) {
    return value_of<T>([=](size_t size, void* value, size_t* size_ret) {
      return clGetImageInfo(image, param, size, value, size_ret);
    });
  }
  cl_int failure(cl_mem_flags flags, const cl_image_format* format,
                 const cl_image_desc* description, void* host_ptr = nullptr) {
    cl_int code = CL_SUCCESS;
    const cl_mem image = clCreateImage(context_, flags, format, description, host_ptr, &code);
    EXPECT_EQ(image, nullptr);
    if (image != nullptr) clReleaseMemObject(image);
    return code;
  }
  cl_image_desc description_2d() {
    cl_image_desc description = {};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = 16;
    description.image_height = 8;
    return description;
  }
};

TEST_F(ClCreateImage, TellsItsShape) {
  for (const ImageKind& kind : kImageKinds) {
    SCOPED_TRACE(kind.name);
    const Buffer image = make_image(kind, kRgba8);
    ASSERT_NE(image.get(), nullptr);
    EXPECT_EQ(value_of<cl_mem_object_type>(query_of(image, CL_MEM_TYPE)), kind.type);
    const auto format = info<cl_image_format>(image, CL_IMAGE_FORMAT);
    EXPECT_EQ(format.image_channel_order, kRgba8.image_channel_order);
    EXPECT_EQ(format.image_channel_data_type, kRgba8.image_channel_data_type);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_ELEMENT_SIZE), 4u);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_WIDTH), kind.extent[0]);
    const bool has_height =
        kind.type != CL_MEM_OBJECT_IMAGE1D && kind.type != CL_MEM_OBJECT_IMAGE1D_ARRAY;
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_HEIGHT), has_height ? kind.extent[1] : 0);
    const bool deep = kind.type == CL_MEM_OBJECT_IMAGE3D;
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_DEPTH), deep ? kind.extent[2] : 0);
    const size_t layers = kind.type == CL_MEM_OBJECT_IMAGE1D_ARRAY   ? kind.extent[1]
                          : kind.type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? kind.extent[2]
                                                                     : 0;
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_ARRAY_SIZE), layers);
    EXPECT_GE(info<size_t>(image, CL_IMAGE_ROW_PITCH), kind.extent[0] * 4);
    EXPECT_EQ(info<cl_mem>(image, CL_IMAGE_BUFFER), nullptr);
    EXPECT_EQ(info<cl_uint>(image, CL_IMAGE_NUM_MIP_LEVELS), 0u);
    EXPECT_EQ(info<cl_uint>(image, CL_IMAGE_NUM_SAMPLES), 0u);
    EXPECT_GE(value_of<size_t>(query_of(image, CL_MEM_SIZE)),
              kind.extent[0] * kind.extent[1] * kind.extent[2] * 4);
  }
}

TEST_F(ClCreateImage, CopiesAndUsesHostMemory) {
  const ImageKind& kind = kImageKinds[2];
  const size_t pitch = kind.extent[0] * 4 + 12;
  for (const cl_mem_flags flags : {CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR}) {
    std::vector<uint8_t> host = noise(pitch * kind.extent[1], 5);
    const Buffer image = make_image(kind, kRgba8, CL_MEM_READ_WRITE | flags, host.data(), pitch);
    ASSERT_NE(image.get(), nullptr);
    const Pixels seen = download(image, zero_, kind.extent, 4);
    for (size_t y = 0; y < kind.extent[1]; ++y) {
      EXPECT_EQ(std::memcmp(seen.at(0, y, 0), host.data() + y * pitch, kind.extent[0] * 4), 0);
    }
  }
}

TEST_F(ClCreateImage, LegacyFunctions) {
  cl_int code = CL_SUCCESS;
  const Buffer flat(clCreateImage2D(context_, CL_MEM_READ_WRITE, &kRgba8, 8, 4, 0, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(value_of<cl_mem_object_type>(query_of(flat, CL_MEM_TYPE)), CL_MEM_OBJECT_IMAGE2D);
  const Buffer deep(
      clCreateImage3D(context_, CL_MEM_READ_WRITE, &kRgba8, 8, 4, 3, 0, 0, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(info<size_t>(deep, CL_IMAGE_DEPTH), 3u);
  EXPECT_EQ(clCreateImage2D(context_, CL_MEM_READ_WRITE, &kRgba8, 0, 4, 0, nullptr, &code),
            nullptr);
  EXPECT_CL(CL_INVALID_IMAGE_SIZE, code);
}

TEST_F(ClCreateImage, FromBuffer) {
  const size_t width = 64;
  const std::vector<uint8_t> data = noise(width * 4, 3);
  const Buffer buffer = make_buffer_of(data);
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  description.image_width = width;
  description.mem_object = buffer;
  cl_int code = CL_SUCCESS;
  Buffer image(clCreateImage(context_, CL_MEM_READ_WRITE, &kRgba8, &description, nullptr, &code));
  if (code == CL_IMAGE_FORMAT_NOT_SUPPORTED) GTEST_SKIP() << "no such images from buffers";
  ASSERT_SUCCESS(code);
  EXPECT_EQ(info<cl_mem>(image, CL_IMAGE_BUFFER), buffer.get());
  EXPECT_EQ(value_of<cl_mem>(query_of(image, CL_MEM_ASSOCIATED_MEMOBJECT)), buffer.get());
  // Both show the same memory, in both directions.
  const Extent all{width, 1, 1};
  EXPECT_EQ(download(image, zero_, all, 4).bytes, data);
  const Pixels other({7, 1, 1}, 4, 8);
  const Extent origin{3, 0, 0};
  EXPECT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, origin.data(), other.extent.data(), 0,
                                     0, other.bytes.data(), 0, nullptr, nullptr));
  const std::vector<uint8_t> seen = read_all<uint8_t>(buffer, data.size());
  EXPECT_EQ(std::memcmp(seen.data() + 12, other.bytes.data(), other.bytes.size()), 0);
  EXPECT_EQ(std::memcmp(seen.data(), data.data(), 12), 0);
  if (!options().tutti) return;  // PoCL 3.1 crashes
  const cl_uint color[4] = {9, 8, 7, 6};
  const Extent at{20, 0, 0}, region{5, 1, 1};
  EXPECT_SUCCESS(
      clEnqueueFillImage(queue_, image, color, at.data(), region.data(), 0, nullptr, nullptr));
  const std::vector<uint8_t> filled = read_all<uint8_t>(buffer, data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    const bool inside = i >= 80 && i < 100;
    ASSERT_EQ(filled[i], inside ? color[i % 4] : seen[i]) << i;
  }
}

TEST_F(ClCreateImage, TwoDimensionsFromBufferWhereNotSupported) {
  if (device_version() < 300) GTEST_SKIP() << "OpenCL 3.0 makes it optional";
  if (value_of<cl_uint>(query_of(device_, CL_DEVICE_IMAGE_PITCH_ALIGNMENT)) != 0) {
    GTEST_SKIP() << "supported";
  }
  const Buffer buffer = make_buffer(16 * 16 * 4);
  cl_image_desc description = description_2d();
  description.image_width = description.image_height = 16;
  description.mem_object = buffer;
  // "Returns CL_INVALID_OPERATION if no devices in context support Creating a 2D Image from a
  // Buffer."
  EXPECT_CL(CL_INVALID_OPERATION, failure(0, &kRgba8, &description));
}

TEST_F(ClCreateImage, RefusesWhatIsNotValid) {
  cl_image_desc description = description_2d();
  const cl_image_format strange = {CL_RGB, CL_FLOAT};
  EXPECT_CL(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, failure(0, nullptr, &description));
  EXPECT_CL(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, failure(0, &strange, &description));
  EXPECT_CL(CL_INVALID_IMAGE_DESCRIPTOR, failure(0, &kRgba8, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, failure(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, &kRgba8, &description));
  EXPECT_CL(CL_INVALID_HOST_PTR, failure(CL_MEM_COPY_HOST_PTR, &kRgba8, &description));
  uint8_t byte = 0;
  EXPECT_CL(CL_INVALID_HOST_PTR, failure(CL_MEM_READ_WRITE, &kRgba8, &description, &byte));
  description.image_type = CL_MEM_OBJECT_BUFFER;
  EXPECT_CL(CL_INVALID_IMAGE_DESCRIPTOR, failure(0, &kRgba8, &description));
  description = description_2d();
  description.image_row_pitch = 64;  // no host_ptr
  EXPECT_CL(CL_INVALID_IMAGE_DESCRIPTOR, failure(0, &kRgba8, &description));
  description = description_2d();
  description.image_width = value_of<size_t>(query_of(device_, CL_DEVICE_IMAGE2D_MAX_WIDTH)) + 1;
  EXPECT_CL(CL_INVALID_IMAGE_SIZE, failure(0, &kRgba8, &description));
  description = description_2d();
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateImage(nullptr, 0, &kRgba8, &description, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
}

TEST_F(ClCreateImage, ABufferIsNoImage) {
  const Buffer buffer = make_buffer(64);
  const Buffer image = make_image(kImageKinds[2], kRgba8);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clGetImageInfo(buffer, CL_IMAGE_WIDTH, 0, nullptr, &size));
  uint8_t data[64] = {};
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueReadBuffer(queue_, image, CL_TRUE, 0, 4, data, 0, nullptr, nullptr));
  const Extent one{1, 1, 1};
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clEnqueueReadImage(queue_, buffer, CL_TRUE, zero_.data(),
                                                      one.data(), 0, 0, data, 0, nullptr, nullptr));
}

TEST_F(ClCreateImage, SupportedFormats) {
  for (const ImageKind& kind : kImageKinds) {
    SCOPED_TRACE(kind.name);
    cl_uint count = 0;
    ASSERT_SUCCESS(
        clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, kind.type, 0, nullptr, &count));
    std::vector<cl_image_format> formats(count);
    ASSERT_SUCCESS(clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE, kind.type, count,
                                              formats.data(), nullptr));
    bool rgba8 = false;
    for (const cl_image_format& format : formats) {
      rgba8 |= std::memcmp(&format, &kRgba8, sizeof format) == 0;
      const Buffer image = make_image(kind, format);
      EXPECT_NE(image.get(), nullptr);
    }
    EXPECT_TRUE(rgba8);
    // The appendix on optional features: no image argument that is read and written, no format.
    if (device_version() >= 300 &&
        value_of<cl_uint>(query_of(device_, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS)) == 0) {
      EXPECT_SUCCESS(clGetSupportedImageFormats(context_, CL_MEM_KERNEL_READ_AND_WRITE, kind.type,
                                                0, nullptr, &count));
      EXPECT_EQ(count, 0u);
    }
  }
  cl_uint count = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetSupportedImageFormats(context_, CL_MEM_READ_WRITE,
                                                         CL_MEM_OBJECT_BUFFER, 0, nullptr, &count));
  EXPECT_CL(CL_INVALID_CONTEXT,
            clGetSupportedImageFormats(nullptr, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0,
                                       nullptr, &count));
}

class ClCreateSampler : public ImageTest {};

TEST_F(ClCreateSampler, TellsItsState) {
  const auto get = [](cl_sampler sampler, cl_sampler_info param) {
    return [=](size_t size, void* value, size_t* size_ret) {
      return clGetSamplerInfo(sampler, param, size, value, size_ret);
    };
  };
  const Sampler sampler = make_sampler(CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, true);
  EXPECT_EQ(value_of<cl_bool>(get(sampler, CL_SAMPLER_NORMALIZED_COORDS)), cl_bool{CL_TRUE});
  EXPECT_EQ(value_of<cl_addressing_mode>(get(sampler, CL_SAMPLER_ADDRESSING_MODE)),
            cl_addressing_mode{CL_ADDRESS_REPEAT});
  EXPECT_EQ(value_of<cl_filter_mode>(get(sampler, CL_SAMPLER_FILTER_MODE)),
            cl_filter_mode{CL_FILTER_LINEAR});
  EXPECT_EQ(value_of<cl_context>(get(sampler, CL_SAMPLER_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_uint>(get(sampler, CL_SAMPLER_REFERENCE_COUNT)), 1u);
  EXPECT_SUCCESS(clRetainSampler(sampler));
  EXPECT_EQ(value_of<cl_uint>(get(sampler, CL_SAMPLER_REFERENCE_COUNT)), 2u);
  EXPECT_SUCCESS(clReleaseSampler(sampler));
}

TEST_F(ClCreateSampler, RefusesWhatIsNotValid) {
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateSampler(context_, CL_TRUE, 0, CL_FILTER_LINEAR, &code), nullptr);
  EXPECT_CL(CL_INVALID_VALUE, code);
  EXPECT_EQ(clCreateSampler(context_, CL_TRUE, CL_ADDRESS_CLAMP, 0, &code), nullptr);
  EXPECT_CL(CL_INVALID_VALUE, code);
  EXPECT_EQ(clCreateSampler(nullptr, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_LINEAR, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  if (device_version() < 200) return;
  const cl_sampler_properties twice[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR,
                                         CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
  EXPECT_EQ(clCreateSamplerWithProperties(context_, twice, &code), nullptr);
  EXPECT_CL(CL_INVALID_VALUE, code);
  const Sampler standard(clCreateSamplerWithProperties(context_, nullptr, &code));
  EXPECT_SUCCESS(code);
}

}  // namespace
}  // namespace tutti::api_tests
