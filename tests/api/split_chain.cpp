// SPDX-License-Identifier: Apache-2.0
//
// Split kernels between other commands: chains, partial transfers, maps, copies.
#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitChain = SplitTest;
using SplitChainSizes = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitChainSizes, testing::ValuesIn(kSplitSizes));

void stencil_on_host(const Guarded<cl_int>& in, Guarded<cl_int>* out) {
  const size_t n = in.count();
  for (size_t i = 0; i < n; ++i) {
    const cl_int left = i > 0 ? in[i - 1] : 0;
    const cl_int right = i + 1 < n ? in[i + 1] : 0;
    (*out)[i] = left / 4 + in[i] / 2 + right / 4 + 1;
  }
}

TEST_P(SplitChainSizes, StencilPingPong) {
  const Kernel stencil = kernel("stencil");
  Guarded<cl_int> a(noise_of<cl_int>(n_, 1), 1);
  Guarded<cl_int> b(std::vector<cl_int>(n_, 0), 2);
  const Buffer buffer_a = upload(a);
  const Buffer buffer_b = upload(b);
  for (int round = 0; round < 10; ++round) {
    set_args(stencil, buffer_a, buffer_b, static_cast<cl_uint>(n_));
    launch(stencil, n_);
    set_args(stencil, buffer_b, buffer_a, static_cast<cl_uint>(n_));
    launch(stencil, n_);
    stencil_on_host(a, &b);
    stencil_on_host(b, &a);
  }
  EXPECT_TRUE(matches(a, buffer_a));
  EXPECT_TRUE(matches(b, buffer_b));
}

TEST_F(SplitChain, Stencil2dPingPong) {
  const Kernel stencil = kernel("stencil_2d");
  const size_t w = 203;
  const size_t h = 131;
  std::vector<cl_int> start = noise_of<cl_int>(w * h, 2);
  for (cl_int& value : start) value /= 8;
  Guarded<cl_int> a(start, 1);
  Guarded<cl_int> b(std::vector<cl_int>(w * h, 0), 2);
  Buffer buffer_a = upload(a);
  Buffer buffer_b = upload(b);
  for (int round = 0; round < 12; ++round) {
    set_args(stencil, buffer_a, buffer_b, static_cast<cl_uint>(w), static_cast<cl_uint>(h));
    launch2(stencil, w, h);
    for (size_t y = 0; y < h; ++y) {
      for (size_t x = 0; x < w; ++x) {
        const size_t i = y * w + x;
        const bool edge = x == 0 || y == 0 || x == w - 1 || y == h - 1;
        b[i] = edge ? a[i] : (a[i - 1] + a[i + 1] + a[i - w] + a[i + w]) / 4;
      }
    }
    std::swap(buffer_a, buffer_b);
    std::swap(a, b);
  }
  EXPECT_TRUE(matches(a, buffer_a));
  EXPECT_TRUE(matches(b, buffer_b));
}

TEST_P(SplitChainSizes, PartialWriteBetweenKernels) {
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 3));
  const Buffer data = upload(expected);
  const size_t first = n_ / 3;
  const size_t count = n_ - n_ / 2 - n_ / 3 > 0 ? n_ - n_ / 2 - n_ / 3 : 1;
  for (cl_uint round = 0; round < 4; ++round) {
    set_args(in_place, data, static_cast<cl_uint>(n_), cl_uint{3}, round);
    launch(in_place, n_);
    for (size_t i = 0; i < n_; ++i) expected[i] = expected[i] * 3 + round;
    const std::vector<cl_uint> change = noise_of<cl_uint>(count, 40 + round);
    // Only a part in the middle; not aligned to anything.
    ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, data, CL_TRUE,
                                        (Guarded<cl_uint>::kGuard + first) * 4, count * 4,
                                        change.data(), 0, nullptr, nullptr));
    for (size_t i = 0; i < count; ++i) expected[first + i] = change[i];
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitChainSizes, ReadOfParts) {
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 4));
  const Buffer data = upload(expected);
  set_args(in_place, data, static_cast<cl_uint>(n_), cl_uint{7}, cl_uint{1});
  launch(in_place, n_);
  for (size_t i = 0; i < n_; ++i) expected[i] = expected[i] * 7 + 1;
  const size_t total = expected.bytes();
  std::vector<uint8_t> whole(total);
  std::memcpy(whole.data(), expected.all().data(), total);
  // Pieces that end inside of elements, in no order
  for (const size_t piece : {total, total / 2 + 1, total / 7 + 3, size_t{1}}) {
    for (const size_t start : {size_t{0}, total / 3, total / 2 - 1, total - piece}) {
      const size_t size = std::min(piece, total - start);
      std::vector<uint8_t> seen(size);
      ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, data, CL_TRUE, start, size, seen.data(), 0,
                                         nullptr, nullptr));
      ASSERT_EQ(std::memcmp(seen.data(), whole.data() + start, size), 0)
          << "start " << start << ", size " << size;
    }
  }
}

TEST_P(SplitChainSizes, CopyAndFillAfterKernel) {
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> source(noise_of<cl_uint>(n_, 5));
  Guarded<cl_uint> target(noise_of<cl_uint>(n_, 6));
  const Buffer buffer_source = upload(source);
  const Buffer buffer_target = upload(target);
  set_args(in_place, buffer_source, static_cast<cl_uint>(n_), cl_uint{11}, cl_uint{2});
  launch(in_place, n_);
  for (size_t i = 0; i < n_; ++i) source[i] = source[i] * 11 + 2;
  // The second half, shifted to the front
  const size_t half = n_ - n_ / 2;
  const size_t guard = Guarded<cl_uint>::kGuard;
  ASSERT_SUCCESS(clEnqueueCopyBuffer(queue_, buffer_source, buffer_target, (guard + n_ / 2) * 4,
                                     guard * 4, half * 4, 0, nullptr, nullptr));
  for (size_t i = 0; i < half; ++i) target[i] = source[n_ / 2 + i];
  const cl_uint pattern = 0x11223344;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, buffer_source, &pattern, 4, (guard + n_ / 4) * 4,
                                     half * 2 / 4 * 4, 0, nullptr, nullptr));
  for (size_t i = 0; i < half * 2 / 4; ++i) source[n_ / 4 + i] = pattern;
  // The kernel once more, on what was copied
  set_args(in_place, buffer_target, static_cast<cl_uint>(n_), cl_uint{3}, cl_uint{1});
  launch(in_place, n_);
  for (size_t i = 0; i < n_; ++i) target[i] = target[i] * 3 + 1;
  EXPECT_TRUE(matches(source, buffer_source));
  EXPECT_TRUE(matches(target, buffer_target));
}

TEST_P(SplitChainSizes, UseHostPtrWithMaps) {
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 7));
  std::vector<cl_uint> memory = expected.all();
  const Buffer data = make_buffer(expected.bytes(), CL_MEM_USE_HOST_PTR, memory.data());
  for (cl_uint round = 0; round < 3; ++round) {
    set_args(in_place, data, static_cast<cl_uint>(n_), cl_uint{5}, round);
    launch(in_place, n_);
    for (size_t i = 0; i < n_; ++i) expected[i] = expected[i] * 5 + round;
    cl_int code = CL_SUCCESS;
    void* mapped = clEnqueueMapBuffer(queue_, data, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      expected.bytes(), 0, nullptr, nullptr, &code);
    ASSERT_SUCCESS(code);
    ASSERT_EQ(mapped, memory.data());
    ASSERT_TRUE(same_elements(expected.all(), memory));
    // The host changes something in its turn.
    memory[Guarded<cl_uint>::kGuard + n_ / 2] ^= 0xffffu;
    expected[n_ / 2] ^= 0xffffu;
    ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, data, mapped, 0, nullptr, nullptr));
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_F(SplitChain, MapOfAPartBetweenKernels) {
  const Kernel in_place = kernel("in_place");
  const size_t n = 20001;
  Guarded<cl_uint> expected(noise_of<cl_uint>(n, 8));
  const Buffer data = upload(expected);
  for (cl_uint round = 0; round < 6; ++round) {
    set_args(in_place, data, static_cast<cl_uint>(n), cl_uint{5}, round);
    launch(in_place, n);
    for (size_t i = 0; i < n; ++i) expected[i] = expected[i] * 5 + round;
    const size_t first = 3000 * round;
    const cl_map_flags flags =
        round % 2 == 0 ? CL_MAP_WRITE : cl_map_flags{CL_MAP_WRITE_INVALIDATE_REGION};
    cl_int code = CL_SUCCESS;
    auto* mapped = static_cast<cl_uint*>(clEnqueueMapBuffer(queue_, data, CL_TRUE, flags,
                                                            (Guarded<cl_uint>::kGuard + first) * 4,
                                                            4000, 0, nullptr, nullptr, &code));
    ASSERT_SUCCESS(code);
    for (size_t i = 0; i < 1000; ++i) {
      // With CL_MAP_WRITE every second element stays as the kernel left it.
      if (flags == CL_MAP_WRITE && i % 2 == 1) continue;
      mapped[i] = expected[first + i] = static_cast<cl_uint>(i * round);
    }
    ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, data, mapped, 0, nullptr, nullptr));
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_F(SplitChain, ProducerAndManyConsumers) {
  const Kernel in_place = kernel("in_place");
  const Kernel gather = kernel("gather");
  const Kernel reversed = kernel("reversed");
  const size_t n = 9973;
  std::vector<cl_uint> index = noise_of<cl_uint>(n, 9);
  for (cl_uint& each : index) each %= static_cast<cl_uint>(n);
  Guarded<cl_uint> source(noise_of<cl_uint>(n, 10));
  const Guarded<cl_uint> guarded_index(index);
  Guarded<cl_uint> gathered(std::vector<cl_uint>(n, 0), 11);
  Guarded<cl_uint> backwards(std::vector<cl_uint>(n, 0), 12);
  const Buffer buffer_source = upload(source);
  const Buffer buffer_index = upload(guarded_index);
  const Buffer buffer_gathered = upload(gathered);
  const Buffer buffer_backwards = upload(backwards);
  for (cl_uint round = 0; round < 5; ++round) {
    set_args(in_place, buffer_source, static_cast<cl_uint>(n), cl_uint{3}, round);
    launch(in_place, n);
    set_args(gather, buffer_source, buffer_index, buffer_gathered, static_cast<cl_uint>(n));
    launch(gather, n);
    set_args(reversed, buffer_gathered, buffer_backwards, static_cast<cl_uint>(n));
    launch(reversed, n);
    set_args(reversed, buffer_backwards, buffer_source, static_cast<cl_uint>(n));
    launch(reversed, n);
    for (size_t i = 0; i < n; ++i) source[i] = source[i] * 3 + round;
    for (size_t i = 0; i < n; ++i) gathered[i] = source[index[i]];
    for (size_t i = 0; i < n; ++i) backwards[n - 1 - i] = gathered[i];
    for (size_t i = 0; i < n; ++i) source[n - 1 - i] = backwards[i];
  }
  EXPECT_TRUE(matches(source, buffer_source));
  EXPECT_TRUE(matches(gathered, buffer_gathered));
  EXPECT_TRUE(matches(backwards, buffer_backwards));
  EXPECT_TRUE(matches(guarded_index, buffer_index));
}

TEST_F(SplitChain, TwoQueuesHandOverByEvents) {
  const Kernel in_place = kernel("in_place");
  const Queue other = make_queue();
  const size_t n = 16384;
  const size_t global = n;
  Guarded<cl_uint> expected(noise_of<cl_uint>(n, 13));
  const Buffer data = upload(expected);
  Event last;
  for (cl_uint round = 0; round < 20; ++round) {
    set_args(in_place, data, static_cast<cl_uint>(n), cl_uint{3}, round);
    Event next;
    cl_command_queue queue = round % 2 == 0 ? queue_ : other.get();
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue, in_place, 1, nullptr, &global, &kGroup,
                                          round == 0 ? 0 : 1, round == 0 ? nullptr : last.list(),
                                          next.out()));
    ASSERT_SUCCESS(clFlush(queue));
    last = std::move(next);
    for (size_t i = 0; i < n; ++i) expected[i] = expected[i] * 3 + round;
  }
  ASSERT_SUCCESS(clWaitForEvents(1, last.list()));
  EXPECT_TRUE(matches(expected, data));
}

TEST_F(SplitChain, SizesThatChangeFromLaunchToLaunch) {
  // Split boundaries move: what lies valid where must follow.
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> expected(noise_of<cl_uint>(65537, 14));
  const Buffer data = upload(expected);
  cl_uint round = 0;
  for (const size_t n : {65537u, 100u, 40000u, 64u, 65536u, 12345u, 1u, 65537u}) {
    set_args(in_place, data, static_cast<cl_uint>(n), cl_uint{3}, ++round);
    launch(in_place, n);
    for (size_t i = 0; i < n; ++i) expected[i] = expected[i] * 3 + round;
  }
  EXPECT_TRUE(matches(expected, data));
}

}  // namespace
}  // namespace tutti::api_tests
