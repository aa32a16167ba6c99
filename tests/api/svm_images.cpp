// SPDX-License-Identifier: Apache-2.0
// Images whose pixels are shared virtual memory.
#include "images.h"
#include "svm.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kSvmWidth = 64, kSvmRows = 32;

const char* const kSvmImageSource = R"(
kernel void invert(read_only image2d_t from, global uint4* to) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  to[y * (int)get_global_size(0) + x] = (uint4)(255) - read_imageui(from, (int2)(x, y));
}
kernel void paint(write_only image2d_t to) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  write_imageui(to, (int2)(x, y), (uint4)(x, y, x ^ y, 7));
}
kernel void sum(read_only image1d_buffer_t from, global uint4* to) {
  int x = (int)get_global_id(0);
  to[x] = read_imageui(from, x) + (uint4)(1);
}
)";

class SvmImages : public SvmTest {
 protected:
  void SetUp() override {
    SvmTest::SetUp();
    if (IsSkipped()) return;
    if (value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) == CL_FALSE) {
      GTEST_SKIP() << "no images";
    }
    program_ = build(kSvmImageSource);
  }
  cl_int launch_2d(cl_kernel kernel) const {
    const size_t global[] = {kSvmWidth, kSvmRows};
    return clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, nullptr, 0, nullptr, nullptr);
  }
  static std::vector<uint8_t> painted() {
    std::vector<uint8_t> pixels;
    for (size_t y = 0; y < kSvmRows; ++y) {
      for (size_t x = 0; x < kSvmWidth; ++x) {
        for (const size_t value : {x, y, x ^ y, size_t{7}}) {
          pixels.push_back(static_cast<uint8_t>(value));
        }
      }
    }
    return pixels;
  }

  Program program_;
};

// Where the memory is not the host's alone there are none, which the call tells.
TEST_F(SvmImages, OverIt) {
  const Shared<uint8_t> shared(context_, kSvmWidth * kSvmRows * 4);
  const auto data = noise(shared.bytes(), 11);
  store(shared, data);
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = kSvmWidth;
  description.image_height = kSvmRows;
  cl_int code = CL_SUCCESS;
  const Buffer image(clCreateImage(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, &kRgba8,
                                   &description, shared.get(), &code));
  if (options().tutti && code == CL_INVALID_HOST_PTR) GTEST_SKIP() << "several devices";
  ASSERT_SUCCESS(code);
  const Buffer out = make_buffer(shared.bytes() * 4);
  const Kernel invert = make_kernel(program_, "invert");
  set_args(invert, image, out);
  ASSERT_SUCCESS(launch_2d(invert));
  const auto inverted = read_all<cl_uint>(out, shared.bytes());
  for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(inverted[i], 255u - data[i]) << i;
  const Kernel paint = make_kernel(program_, "paint");
  set_args(paint, image);
  ASSERT_SUCCESS(launch_2d(paint));
  const size_t origin[] = {0, 0, 0}, region[] = {kSvmWidth, kSvmRows, 1};
  size_t pitch = 0;
  void* const mapped = clEnqueueMapImage(queue_, image, CL_TRUE, CL_MAP_READ, origin, region,
                                         &pitch, nullptr, 0, nullptr, nullptr, &code);
  ASSERT_SUCCESS(code);
  EXPECT_EQ(mapped, shared.get());
  EXPECT_EQ(pitch, kSvmWidth * 4);
  EXPECT_TRUE(
      same_elements(painted(), std::vector<uint8_t>(shared.get(), shared.get() + shared.bytes())));
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, image, mapped, 0, nullptr, nullptr));
}

TEST_F(SvmImages, OfABufferOverIt) {
  const Shared<uint8_t> shared(context_, kSvmWidth * 4);
  const auto data = noise(shared.bytes(), 12);
  store(shared, data);
  const Buffer buffer =
      make_buffer(shared.bytes(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, shared.get());
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  description.image_width = kSvmWidth;
  description.mem_object = buffer;
  cl_int code = CL_SUCCESS;
  const Buffer image(
      clCreateImage(context_, CL_MEM_READ_WRITE, &kRgba8, &description, nullptr, &code));
  if (code == CL_IMAGE_FORMAT_NOT_SUPPORTED) GTEST_SKIP() << "no such images from buffers";
  ASSERT_SUCCESS(code);
  const Buffer out = make_buffer(shared.bytes() * 4);
  const Kernel sum = make_kernel(program_, "sum");
  set_args(sum, image, out);
  for (int round = 0; round < 2; ++round) {
    const auto now = noise(shared.bytes(), 13 + static_cast<uint32_t>(round));
    store(shared, now);
    code = launch(sum, kSvmWidth);
    if (code == CL_INVALID_KERNEL_ARGS) GTEST_SKIP() << "the vendor takes no such images";
    ASSERT_SUCCESS(code);
    const auto sums = read_all<cl_uint>(out, shared.bytes());
    for (size_t i = 0; i < now.size(); ++i) ASSERT_EQ(sums[i], now[i] + 1u) << i;
  }
  // The image's own commands write the shared memory.
  const size_t origin[] = {3, 0, 0}, region[] = {7, 1, 1};
  const auto pixels = noise(28, 20);
  auto expected = load(shared);
  ASSERT_SUCCESS(clEnqueueWriteImage(queue_, image, CL_TRUE, origin, region, 0, 0, pixels.data(), 0,
                                     nullptr, nullptr));
  std::copy(pixels.begin(), pixels.end(), expected.begin() + 12);
  EXPECT_TRUE(same_elements(expected, load(shared)));
}

}  // namespace
}  // namespace tutti::api_tests
