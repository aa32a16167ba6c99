// SPDX-License-Identifier: Apache-2.0
//
// Kernels that write images, which a driver may divide by rows: chains of filters over images and
// buffers, then every way to get at the pixels.
#include "images.h"
#include "split.h"

namespace tutti::api_tests {
namespace {

const char* const kImages = R"(
constant sampler_t kEdge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |
                           CLK_FILTER_NEAREST;
kernel void blur(read_only image2d_t in, write_only image2d_t out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x >= get_image_width(out) || at.y >= get_image_height(out)) return;
  uint4 sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) sum += read_imageui(in, kEdge, at + (int2)(dx, dy));
  write_imageui(out, at, sum / 9);
}
kernel void every_other_row(write_only image2d_t out, uint rows) {
  const uint y = get_global_id(0);
  if (y >= rows || y % 2 != 0) return;
  for (uint x = 0; x < 17; ++x) write_imageui(out, (int2)(x, y), (uint4)(x, y, 1, 2));
}
kernel void upside_down(read_only image2d_t in, write_only image2d_t out, uint height,
                        global uint* sums) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= get_image_width(in) || y >= height) return;
  const uint4 pixel = read_imageui(in, kEdge, (int2)(x, y));
  write_imageui(out, (int2)(x, height - 1 - y), pixel);
  sums[y * get_image_width(in) + x] = pixel.x + pixel.w;
}
kernel void in_place(read_only image2d_t in, write_only image2d_t out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x >= get_image_width(in) || at.y >= get_image_height(in)) return;
  write_imageui(out, at, read_imageui(in, at) ^ 255);
}
kernel void columns(write_only image2d_t out, uint height) {
  const uint x = get_global_id(0);
  if (x >= get_image_width(out)) return;
  for (uint y = 1; y < height; ++y) write_imageui(out, (int2)(x, y), (uint4)(x, y, 3, 4));
}
kernel void beside_its_image(global uchar4* bytes, read_only image1d_buffer_t view, uint count) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const uint4 v = read_imageui(view, i) * 3;
  bytes[i] = (uchar4)(v.x, v.y, v.z, v.w);
}
kernel void scattered_rows(global const int* rows, write_only image2d_t out) {
  write_imageui(out, (int2)(get_global_id(0), rows[get_global_id(1)]), (uint4)(9));
}
)";

// A program of its own: Mesa 22.3's compiler aborts where one kernel uses a sampler of the
// program's and another one an argument (docs/platform-notes.md).
const char* const kLinearSource = R"(
constant sampler_t kLinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |
                             CLK_FILTER_LINEAR;
kernel void between_rows(read_only image2d_t in, sampler_t s, global float* out) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x >= get_image_width(in) || at.y >= get_image_height(in)) return;
  const float4 a = read_imagef(in, kLinear, (float2)(at.x + 0.5f, at.y));
  const float4 b = read_imagef(in, s, (float2)(at.x + 0.5f, (float)at.y + 1));
  out[at.y * get_image_width(in) + at.x] = a.x + 16 * b.x;
}
)";

class SplitImages : public ImageTest,
                    public testing::WithParamInterface<std::pair<size_t, size_t>> {
 protected:
  void SetUp() override {
    ImageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    program_ = build(kImages);
  }
  Buffer image_of(const Pixels& pixels) const { return upload(kind_, kRgba8, pixels); }
  Pixels pixels(uint32_t seed) const { return Pixels({width_, height_, 1}, 4, seed); }
  void launch(cl_kernel kernel) const {
    const size_t local[2] = {16, 4};
    const size_t global[2] = {round_up(width_, local[0]), round_up(height_, local[1])};
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
  }
  Pixels blurred(const Pixels& in) const {
    Pixels out = in;
    const auto clamped = [](size_t at, int by, size_t size) {
      const auto moved = static_cast<ptrdiff_t>(at) + by;
      return static_cast<size_t>(std::clamp<ptrdiff_t>(moved, 0, static_cast<ptrdiff_t>(size) - 1));
    };
    for (size_t y = 0; y < height_; ++y) {
      for (size_t x = 0; x < width_; ++x) {
        for (size_t c = 0; c < 4; ++c) {
          unsigned sum = 0;
          for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
              sum += in.at(clamped(x, dx, width_), clamped(y, dy, height_), 0)[c];
            }
          }
          out.at(x, y, 0)[c] = static_cast<uint8_t>(sum / 9);
        }
      }
    }
    return out;
  }

  const size_t width_ = GetParam().first, height_ = GetParam().second;
  const ImageKind kind_{"image2d", CL_MEM_OBJECT_IMAGE2D, {width_, height_, 1}};
  Program program_;
};

INSTANTIATE_TEST_SUITE_P(Extents, SplitImages,
                         testing::Values(std::pair<size_t, size_t>{17, 33},
                                         std::pair<size_t, size_t>{64, 64},
                                         std::pair<size_t, size_t>{101, 203}));

TEST_P(SplitImages, ChainOfFilters) {
  Pixels expected = pixels(1);
  Buffer a = image_of(expected), b = make_image(kind_, kRgba8);
  const Kernel blur = make_kernel(program_, "blur");
  for (int round = 0; round < 5; ++round) {
    set_args(blur, a, b);
    launch(blur);
    expected = blurred(expected);
    std::swap(a, b);
  }
  EXPECT_EQ(download(a, zero_, {width_, height_, 1}, 4).bytes, expected.bytes);
}

TEST_P(SplitImages, RowsThatAreNotWrittenStay) {
  Pixels expected = pixels(2);
  const Buffer image = image_of(expected);
  const Kernel rows = make_kernel(program_, "every_other_row");
  set_args(rows, image, static_cast<cl_uint>(height_));
  const size_t local = 4, global = round_up(height_, local);
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, rows, 1, nullptr, &global, &local, 0, nullptr, nullptr));
  for (size_t y = 0; y < height_; y += 2) {
    for (size_t x = 0; x < 17; ++x) {
      const uint8_t pixel[4] = {static_cast<uint8_t>(x), static_cast<uint8_t>(y), 1, 2};
      std::copy(std::begin(pixel), std::end(pixel), expected.at(x, y, 0));
    }
  }
  // A piece that begins and ends within packages, a copy of all, a map, and a write over it.
  const Extent from{3, 5, 0}, part{9, height_ - 7, 1};
  EXPECT_EQ(download(image, from, part, 4).bytes, expected.cut(from, part).bytes);
  const Buffer copy = make_image(kind_, kRgba8);
  const Extent all{width_, height_, 1};
  ASSERT_SUCCESS(clEnqueueCopyImage(queue_, image, copy, zero_.data(), zero_.data(), all.data(), 0,
                                    nullptr, nullptr));
  EXPECT_EQ(download(copy, zero_, all, 4).bytes, expected.bytes);
  const Pixels patch({5, 6, 1}, 4, 3);
  const Extent patch_at{2, 1, 0};
  ASSERT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, patch_at.data(), patch.extent.data(),
                                     0, 0, patch.bytes.data(), 0, nullptr, nullptr));
  expected.paste(patch, patch_at);
  cl_int code = CL_SUCCESS;
  size_t pitch = 0;
  auto* mapped = static_cast<uint8_t*>(clEnqueueMapImage(queue_, image, CL_TRUE, CL_MAP_READ,
                                                         zero_.data(), all.data(), &pitch, nullptr,
                                                         0, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  for (size_t y = 0; y < height_; ++y) {
    EXPECT_TRUE(
        std::equal(mapped + y * pitch, mapped + y * pitch + width_ * 4, expected.at(0, y, 0)))
        << "row " << y;
  }
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
  ASSERT_SUCCESS(clFinish(queue_));
}

TEST_P(SplitImages, RowsInReverseBesideABuffer) {
  const Pixels start = pixels(4);
  const Buffer in = image_of(start), out = make_image(kind_, kRgba8);
  std::vector<cl_uint> sums(width_ * height_);
  const Buffer buffer = make_buffer(sums.size() * 4);
  const Kernel turn = make_kernel(program_, "upside_down");
  set_args(turn, in, out, static_cast<cl_uint>(height_), buffer);
  launch(turn);
  Pixels expected = start;
  for (size_t y = 0; y < height_; ++y) {
    for (size_t x = 0; x < width_; ++x) {
      const uint8_t* pixel = start.at(x, y, 0);
      std::copy(pixel, pixel + 4, expected.at(x, height_ - 1 - y, 0));
      sums[y * width_ + x] = static_cast<cl_uint>(pixel[0]) + pixel[3];
    }
  }
  EXPECT_EQ(download(out, zero_, {width_, height_, 1}, 4).bytes, expected.bytes);
  std::vector<cl_uint> seen(sums.size());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, seen.size() * 4, seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(sums, seen));
}

TEST_P(SplitImages, OneImageReadAndWritten) {
  // Each work-item its own pixel. What the specification leaves open, all drivers do here.
  Pixels expected = pixels(6);
  const Buffer image = image_of(expected);
  const Kernel kernel = make_kernel(program_, "in_place");
  set_args(kernel, image, image);
  launch(kernel);
  launch(kernel);
  launch(kernel);
  for (uint8_t& byte : expected.bytes) byte ^= 255;
  EXPECT_TRUE(same_elements(expected.bytes, download(image, zero_, expected.extent, 4).bytes));
}

TEST_P(SplitImages, Columns) {
  Pixels expected = pixels(7);
  const Buffer image = image_of(expected);
  const Kernel columns = make_kernel(program_, "columns");
  set_args(columns, image, static_cast<cl_uint>(height_));
  const size_t local = 4, global = round_up(width_, local);
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, columns, 1, nullptr, &global, &local, 0, nullptr, nullptr));
  for (size_t y = 1; y < height_; ++y) {
    for (size_t x = 0; x < width_; ++x) {
      const uint8_t pixel[4] = {static_cast<uint8_t>(x), static_cast<uint8_t>(y), 3, 4};
      std::copy(std::begin(pixel), std::end(pixel), expected.at(x, y, 0));
    }
  }
  EXPECT_TRUE(same_elements(expected.bytes, download(image, zero_, expected.extent, 4).bytes));
}

TEST_P(SplitImages, LinearFiltersSeeTheNextRow) {
  Pixels values({width_, height_, 1}, 16, 8);
  std::vector<float> rows(height_);
  for (size_t y = 0; y < height_; ++y) {
    rows[y] = static_cast<float>((y * 37) % 64 * 2);
    for (size_t x = 0; x < width_; ++x) {
      const float pixel[4] = {rows[y], 1, 2, 3};
      std::memcpy(values.at(x, y, 0), pixel, sizeof(pixel));
    }
  }
  const Buffer image = upload(kind_, kRgbaFloat, values);
  const Buffer out = make_buffer(width_ * height_ * 4);
  const Sampler sampler = make_sampler(CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR);
  const Program program = build(kLinearSource);
  const Kernel kernel = make_kernel(program, "between_rows");
  set_args(kernel, image, sampler, out);
  launch(kernel);
  std::vector<float> expected(width_ * height_), seen(expected.size());
  for (size_t y = 0; y < height_; ++y) {
    const float above = (rows[y == 0 ? 0 : y - 1] + rows[y]) / 2;
    const float below = (rows[y] + rows[std::min(y + 1, height_ - 1)]) / 2;
    std::fill_n(expected.begin() + static_cast<ptrdiff_t>(y * width_), width_, above + 16 * below);
  }
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, out, CL_TRUE, 0, seen.size() * 4, seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(expected, seen));
}

TEST_P(SplitImages, ABufferBesideItsImage) {
  std::vector<uint8_t> bytes = noise(width_ * height_ * 4, 9);
  const Buffer buffer = make_buffer_of(bytes);
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  description.image_width = width_ * height_;
  description.mem_object = buffer;
  cl_int code = CL_SUCCESS;
  const Buffer view(
      clCreateImage(context_, CL_MEM_READ_WRITE, &kRgba8, &description, nullptr, &code));
  ASSERT_SUCCESS(code);
  const Kernel kernel = make_kernel(program_, "beside_its_image");
  set_args(kernel, buffer, view, static_cast<cl_uint>(width_ * height_));
  const size_t local = 16, global = round_up(width_ * height_, local);
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(byte * 3);
  std::vector<uint8_t> seen(bytes.size());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, seen.size(), seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(bytes, seen));
}

TEST_P(SplitImages, RowsReadFromMemory) {
  // Not known before the launch: such a kernel runs whole.
  Pixels expected = pixels(5);
  const Buffer image = image_of(expected);
  std::vector<cl_int> rows;
  for (size_t y = 0; y < 16; ++y) rows.push_back(static_cast<cl_int>((y * 7) % height_));
  const Buffer buffer = make_buffer_of(rows);
  const Kernel scatter = make_kernel(program_, "scattered_rows");
  set_args(scatter, buffer, image);
  const size_t global[2] = {16, 16}, local[2] = {16, 2};
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, scatter, 2, nullptr, global, local, 0, nullptr, nullptr));
  for (const cl_int row : rows) {
    for (size_t x = 0; x < 16; ++x) {
      std::fill_n(expected.at(x, static_cast<size_t>(row), 0), 4, uint8_t{9});
    }
  }
  EXPECT_EQ(download(image, zero_, {width_, height_, 1}, 4).bytes, expected.bytes);
}

}  // namespace
}  // namespace tutti::api_tests
