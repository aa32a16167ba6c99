// SPDX-License-Identifier: Apache-2.0
// Transfers, copies, fills and maps of images of every type, against pixels in host memory.
#include "images.h"

namespace tutti::api_tests {
namespace {

class ClEnqueueImage : public ImageTest, public testing::WithParamInterface<size_t> {
 protected:
  const ImageKind& kind_ = kImageKinds[GetParam()];
  // A box inside the image, away from its borders where there is room.
  Extent inner_origin() const {
    Extent origin{};
    for (size_t d = 0; d < 3; ++d) origin[d] = kind_.extent[d] > 2 ? 1 : 0;
    return origin;
  }
  Extent inner_region() const {
    Extent region{};
    for (size_t d = 0; d < 3; ++d) {
      region[d] = kind_.extent[d] > 2 ? kind_.extent[d] - 2 : kind_.extent[d];
    }
    return region;
  }
};

TEST_P(ClEnqueueImage, WritesAndReadsParts) {
  Pixels expected(kind_.extent, 4, 11);
  const Buffer image = upload(kind_, kRgba8, expected);
  EXPECT_EQ(download(image, zero_, kind_.extent, 4).bytes, expected.bytes);
  const Extent origin = inner_origin(), region = inner_region();
  const Pixels part(region, 4, 12);
  ASSERT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, origin.data(), region.data(), 0, 0,
                                     part.bytes.data(), 0, nullptr, nullptr));
  expected.paste(part, origin);
  EXPECT_EQ(download(image, zero_, kind_.extent, 4).bytes, expected.bytes);
  EXPECT_EQ(download(image, origin, region, 4).bytes, part.bytes);
}

TEST_P(ClEnqueueImage, HostPitches) {
  if (kind_.type == CL_MEM_OBJECT_IMAGE1D) GTEST_SKIP() << "has no rows";
  const bool layers_1d = kind_.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const bool slices = layers_1d || kind_.extent[2] > 1;
  const size_t row = kind_.extent[0] * 4 + 8;
  const size_t slice = layers_1d ? row + 16 : row * (kind_.extent[1] + 1);
  const size_t second = layers_1d ? slice : row;
  std::vector<uint8_t> host = noise(second * kind_.extent[1] + slice * kind_.extent[2], 4);
  const Buffer image = make_image(kind_, kRgba8);
  ASSERT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, zero_.data(), kind_.extent.data(), row,
                                     slices ? slice : 0, host.data(), 0, nullptr, nullptr));
  const Pixels seen = download(image, zero_, kind_.extent, 4);
  for (size_t z = 0; z < kind_.extent[2]; ++z) {
    for (size_t y = 0; y < kind_.extent[1]; ++y) {
      EXPECT_EQ(
          std::memcmp(seen.at(0, y, z), host.data() + y * second + z * slice, kind_.extent[0] * 4),
          0)
          << y << " " << z;
    }
  }
}

TEST_P(ClEnqueueImage, CopiesBetweenImages) {
  const Pixels source(kind_.extent, 4, 21);
  Pixels expected(kind_.extent, 4, 22);
  const Buffer from = upload(kind_, kRgba8, source);
  const Buffer to = upload(kind_, kRgba8, expected);
  const Extent origin = inner_origin(), region = inner_region();
  ASSERT_SUCCESS(clEnqueueCopyImage(queue_, from, to, zero_.data(), origin.data(), region.data(), 0,
                                    nullptr, nullptr));
  expected.paste(source.cut(zero_, region), origin);
  EXPECT_EQ(download(to, zero_, kind_.extent, 4).bytes, expected.bytes);
}

TEST_P(ClEnqueueImage, CopiesToAndFromBuffers) {
  Pixels expected(kind_.extent, 4, 31);
  const Buffer image = upload(kind_, kRgba8, expected);
  const Extent origin = inner_origin(), region = inner_region();
  const size_t bytes = region[0] * region[1] * region[2] * 4;
  const std::vector<uint8_t> background = noise(bytes + 24, 32);
  const Buffer buffer = make_buffer_of(background);
  ASSERT_SUCCESS(clEnqueueCopyImageToBuffer(queue_, image, buffer, origin.data(), region.data(), 16,
                                            0, nullptr, nullptr));
  std::vector<uint8_t> in_buffer = background;
  const Pixels part = expected.cut(origin, region);
  std::copy(part.bytes.begin(), part.bytes.end(), in_buffer.begin() + 16);
  EXPECT_EQ(read_all<uint8_t>(buffer, in_buffer.size()), in_buffer);

  const Pixels fresh(region, 4, 33);
  const Buffer source = make_buffer_of(fresh.bytes);
  ASSERT_SUCCESS(clEnqueueCopyBufferToImage(queue_, source, image, 0, origin.data(), region.data(),
                                            0, nullptr, nullptr));
  expected.paste(fresh, origin);
  EXPECT_EQ(download(image, zero_, kind_.extent, 4).bytes, expected.bytes);
}

TEST_P(ClEnqueueImage, Fills) {
  Pixels expected(kind_.extent, 4, 41);
  const Buffer image = upload(kind_, kRgba8, expected);
  const Extent origin = inner_origin(), region = inner_region();
  const cl_uint color[4] = {1, 200, 3, 255};
  ASSERT_SUCCESS(
      clEnqueueFillImage(queue_, image, color, origin.data(), region.data(), 0, nullptr, nullptr));
  Pixels filled(region, 4, 1);
  for (size_t i = 0; i < filled.bytes.size(); ++i) {
    filled.bytes[i] = static_cast<uint8_t>(color[i % 4]);
  }
  expected.paste(filled, origin);
  EXPECT_EQ(download(image, zero_, kind_.extent, 4).bytes, expected.bytes);
}

TEST_P(ClEnqueueImage, Maps) {
  Pixels expected(kind_.extent, 4, 51);
  const Buffer image = upload(kind_, kRgba8, expected);
  const Extent origin = inner_origin(), region = inner_region();
  size_t row = 0, slice = 0;
  cl_int code = CL_SUCCESS;
  auto* pixels = static_cast<uint8_t*>(
      clEnqueueMapImage(queue_, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin.data(),
                        region.data(), &row, &slice, 0, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  const size_t second = kind_.type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? slice : row;
  const Pixels fresh(region, 4, 52);
  for (size_t z = 0; z < region[2]; ++z) {
    for (size_t y = 0; y < region[1]; ++y) {
      uint8_t* line = pixels + y * second + z * slice;
      EXPECT_EQ(
          std::memcmp(line, expected.at(origin[0], origin[1] + y, origin[2] + z), region[0] * 4),
          0);
      std::memcpy(line, fresh.at(0, y, z), region[0] * 4);
    }
  }
  EXPECT_EQ(value_of<cl_uint>(query_of(image, CL_MEM_MAP_COUNT)), 1u);
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, image, pixels, 0, nullptr, nullptr));
  expected.paste(fresh, origin);
  EXPECT_EQ(download(image, zero_, kind_.extent, 4).bytes, expected.bytes);
}

TEST_P(ClEnqueueImage, RefusesWhatIsNotValid) {
  const Buffer image = make_image(kind_, kRgba8);
  std::vector<uint8_t> data(kind_.extent[0] * kind_.extent[1] * kind_.extent[2] * 4);
  const auto read = [&](const Extent& origin, const Extent& region, size_t row, size_t slice,
                        void* to) {
    return clEnqueueReadImage(queue_, image, CL_TRUE, origin.data(), region.data(), row, slice, to,
                              0, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_VALUE, read(zero_, kind_.extent, 0, 0, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, read(zero_, {0, 1, 1}, 0, 0, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read({kind_.extent[0], 0, 0}, {1, 1, 1}, 0, 0, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read({1, 0, 0}, kind_.extent, 0, 0, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read(zero_, kind_.extent, 3, 0, data.data()));
  Extent beyond = kind_.extent;
  beyond[2] += 1;
  EXPECT_CL(CL_INVALID_VALUE, read(zero_, beyond, 0, 0, data.data()));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clEnqueueReadImage(nullptr, image, CL_TRUE, zero_.data(), kind_.extent.data(), 0, 0,
                               data.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueFillImage(queue_, image, nullptr, zero_.data(),
                                                 kind_.extent.data(), 0, nullptr, nullptr));
  const Buffer other = make_image(kind_, {CL_RGBA, CL_FLOAT});
  EXPECT_CL(CL_IMAGE_FORMAT_MISMATCH,
            clEnqueueCopyImage(queue_, image, other, zero_.data(), zero_.data(),
                               kind_.extent.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_MEM_COPY_OVERLAP,
            clEnqueueCopyImage(queue_, image, image, zero_.data(), zero_.data(),
                               kind_.extent.data(), 0, nullptr, nullptr));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ClEnqueueImage, testing::Range<size_t>(0, 5),
                         [](const auto& test) { return kImageKinds[test.param].name; });

// ---- kernels -----------------------------------------------------------------------------------

const char kSource[] = R"CLC(
constant sampler_t kNearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |
                              CLK_FILTER_NEAREST;
kernel void sum_right(read_only image2d_t in, sampler_t sampler, global float4* out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  out[at.y * get_image_width(in) + at.x] =
      read_imagef(in, sampler, at) + read_imagef(in, sampler, at + (int2)(1, 0));
}
kernel void twice(read_only image2d_t in, write_only image2d_t out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, 2.0f * read_imagef(in, kNearest, at));
}
kernel void count_up(write_only image3d_t out) {
  const int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imageui(out, at, (uint4)(at.x, at.y, at.z, 7));
}
kernel void from_buffer(read_only image1d_buffer_t in, global uint4* out) {
  const int at = get_global_id(0);
  out[at] = read_imageui(in, at);
}
)CLC";

class ImageKernels : public ImageTest {
 protected:
  static constexpr size_t kWidth = 48, kHeight = 36;
  const ImageKind kind_{"image2d", CL_MEM_OBJECT_IMAGE2D, {kWidth, kHeight, 1}};

  std::vector<float> values() const {
    std::vector<float> result(kWidth * kHeight * 4);
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i * 7 % 1001);
    return result;
  }
  Buffer upload_floats(const std::vector<float>& data) const {
    Pixels pixels;
    pixels.bytes.resize(data.size() * sizeof(float));
    std::memcpy(pixels.bytes.data(), data.data(), pixels.bytes.size());
    return upload(kind_, kRgbaFloat, pixels);
  }
  void launch2(cl_kernel kernel) const {
    const size_t global[2] = {kWidth, kHeight}, local[2] = {8, 4};
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
  }
};

TEST_F(ImageKernels, ReadsThroughASampler) {
  const Program program = build(kSource);
  const Kernel kernel = make_kernel(program, "sum_right");
  const std::vector<float> data = values();
  const Buffer image = upload_floats(data);
  const Sampler sampler = make_sampler(CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
  const Buffer out = make_buffer(data.size() * sizeof(float));
  set_args(kernel, image, sampler, out);
  for (int round = 0; round < 3; ++round) {
    launch2(kernel);
    std::vector<float> expected(data.size());
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x) {
        const size_t next = std::min(x + 1, kWidth - 1);
        for (size_t c = 0; c < 4; ++c) {
          expected[(y * kWidth + x) * 4 + c] =
              data[(y * kWidth + x) * 4 + c] + data[(y * kWidth + next) * 4 + c];
        }
      }
    }
    EXPECT_TRUE(same_elements(expected, read_all<float>(out, data.size())));
  }
}

TEST_F(ImageKernels, ChainsOfImages) {
  const Program program = build(kSource);
  const Kernel kernel = make_kernel(program, "twice");
  std::vector<float> data = values();
  const Buffer a = upload_floats(data);
  const Buffer b = make_image(kind_, kRgbaFloat);
  for (int round = 0; round < 4; ++round) {
    set_args(kernel, round % 2 == 0 ? a : b, round % 2 == 0 ? b : a);
    launch2(kernel);
    for (float& value : data) value *= 2.0f;
  }
  const Pixels seen = download(a, zero_, kind_.extent, 16);
  EXPECT_EQ(std::memcmp(seen.bytes.data(), data.data(), seen.bytes.size()), 0);
}

TEST_F(ImageKernels, Writes3d) {
  if (string_of(query_of(device_, CL_DEVICE_EXTENSIONS)).find("cl_khr_3d_image_writes") ==
      std::string::npos) {
    GTEST_SKIP() << "no writes to 3-D images";
  }
  const Program program =
      build(std::string("#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n") + kSource);
  const Kernel kernel = make_kernel(program, "count_up");
  const ImageKind& kind = kImageKinds[4];
  const Buffer image = make_image(kind, kRgba8);
  set_args(kernel, image);
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, kind.extent.data(), nullptr, 0,
                                        nullptr, nullptr));
  const Pixels seen = download(image, zero_, kind.extent, 4);
  for (size_t z = 0; z < kind.extent[2]; ++z) {
    for (size_t y = 0; y < kind.extent[1]; ++y) {
      for (size_t x = 0; x < kind.extent[0]; ++x) {
        const uint8_t expected[4] = {static_cast<uint8_t>(x), static_cast<uint8_t>(y),
                                     static_cast<uint8_t>(z), 7};
        ASSERT_EQ(std::memcmp(seen.at(x, y, z), expected, 4), 0) << x << " " << y << " " << z;
      }
    }
  }
}

TEST_F(ImageKernels, WrongArguments) {
  const Program program = build(kSource);
  const Kernel kernel = make_kernel(program, "twice");
  const Buffer buffer = make_buffer(64);
  const Buffer volume = make_image(kImageKinds[4], kRgba8);
  const Buffer write_only = make_image(kind_, kRgbaFloat, CL_MEM_WRITE_ONLY);
  const auto set = [&](cl_uint index, cl_mem memory) {
    return clSetKernelArg(kernel, index, sizeof(cl_mem), &memory);
  };
  if (options().tutti) {
    EXPECT_CL(CL_INVALID_MEM_OBJECT, set(0, buffer));
    EXPECT_CL(CL_INVALID_MEM_OBJECT, set(0, volume));
    EXPECT_CL(CL_INVALID_ARG_VALUE, set(0, write_only));
  }
  const Kernel with_sampler = make_kernel(program, "sum_right");
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(with_sampler, 1, 3, nullptr));
}

TEST_F(ImageKernels, KeepsTheSamplerOfALaunch) {
  // A released sampler does not matter to a kernel that has it, nor to one in flight.
  const Program program = build(kSource);
  const Kernel kernel = make_kernel(program, "sum_right");
  const Buffer image = upload_floats(values());
  const Buffer out = make_buffer(kWidth * kHeight * 16);
  Sampler sampler = make_sampler(CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
  set_args(kernel, image, sampler, out);
  launch2(kernel);
  sampler.reset();
  EXPECT_SUCCESS(clFinish(queue_));
}

}  // namespace
}  // namespace tutti::api_tests
