// SPDX-License-Identifier: Apache-2.0
//
// Split kernels and their buffers: in place, several of them, one twice, sub-buffers.
#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitBuffers = SplitTest;
using SplitBuffersSizes = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitBuffersSizes, testing::ValuesIn(kSplitSizes));

TEST_P(SplitBuffersSizes, InPlaceWithGuard) {
  const Kernel in_place = kernel("in_place");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 1));
  const Buffer data = upload(expected);
  for (cl_uint round = 0; round < 3; ++round) {
    set_args(in_place, data, static_cast<cl_uint>(n_), cl_uint{5}, round);
    launch(in_place, n_);
    for (size_t i = 0; i < n_; ++i) expected[i] = expected[i] * 5 + round;
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitBuffersSizes, InPlaceWithOffset) {
  const Kernel in_place = kernel("in_place_offset");
  const size_t offset = n_ / 3;
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 2));
  const Buffer data = upload(expected);
  set_args(in_place, data, static_cast<cl_uint>(n_), cl_uint{9});
  launch(in_place, n_ - offset, offset);
  for (size_t i = offset; i < n_; ++i) expected[i] = expected[i] * 9 + static_cast<cl_uint>(i);
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitBuffersSizes, ThreeInTwoOut) {
  const Kernel three = kernel("three_in_two_out");
  auto small = [&](uint32_t seed) {
    std::vector<cl_int> values = noise_of<cl_int>(n_, seed);
    for (cl_int& value : values) value /= 8;
    return values;
  };
  const Guarded<cl_int> a(small(3));
  const Guarded<cl_int> b(small(4));
  const std::vector<cl_int> c = {1, -20, 300, -4000, 50000};
  Guarded<cl_int> sum(std::vector<cl_int>(n_, 0));
  Guarded<cl_int> difference(std::vector<cl_int>(n_, 0));
  const Buffer buffer_a = upload(a, CL_MEM_READ_ONLY);
  const Buffer buffer_b = upload(b, CL_MEM_READ_ONLY);
  const Buffer buffer_c = make_buffer_of(c, CL_MEM_READ_ONLY);
  const Buffer out_sum = upload(sum);
  const Buffer out_difference = upload(difference);
  set_args(three, buffer_a, buffer_b, buffer_c, out_sum, out_difference, static_cast<cl_uint>(n_));
  launch(three, n_);
  for (size_t i = 0; i < n_; ++i) {
    sum[i] = a[i] + b[i] + c[i % 5];
    difference[i] = a[i] - b[i];
  }
  EXPECT_TRUE(matches(sum, out_sum));
  EXPECT_TRUE(matches(difference, out_difference));
  EXPECT_TRUE(matches(a, buffer_a));
  EXPECT_TRUE(matches(b, buffer_b));
}

TEST_P(SplitBuffersSizes, OneBufferTwiceDisjoint) {
  const Kernel twice = kernel("same_twice");
  Guarded<cl_uint> expected(noise_of<cl_uint>(2 * n_, 5));
  const Buffer data = upload(expected);
  set_args(twice, data, data, static_cast<cl_uint>(n_));
  launch(twice, n_);
  for (size_t i = 0; i < n_; ++i) expected[n_ + i] = expected[i] * 2 + 1;
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitBuffersSizes, OneBufferTwiceInPlace) {
  const Kernel names = kernel("in_place_two_names");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 6));
  const Buffer data = upload(expected);
  set_args(names, data, data, static_cast<cl_uint>(n_));
  launch(names, n_);
  for (size_t i = 0; i < n_; ++i) expected[i] += 5;
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitBuffersSizes, SubBuffersOfOneParent) {
  // From the first part into the second, with untouched bytes before, between and after.
  const Kernel copy = kernel("copy_words");
  const size_t unit = alignment();
  const size_t part = round_up(n_ * 4, unit);
  std::vector<uint8_t> expected = noise(2 * part + 3 * unit, 7);
  const Buffer parent = make_buffer_of(expected);
  const size_t to = unit + part + unit;
  const Buffer first = make_sub_buffer(parent, unit, n_ * 4, CL_MEM_READ_ONLY);
  const Buffer second = make_sub_buffer(parent, to, n_ * 4);
  set_args(copy, first, second, static_cast<cl_uint>(n_), cl_uint{13});
  launch(copy, n_);
  for (size_t i = 0; i < n_; ++i) {
    cl_uint word = 0;
    std::memcpy(&word, &expected[unit + 4 * i], 4);
    word += 13;
    std::memcpy(&expected[to + 4 * i], &word, 4);
  }
  std::vector<uint8_t> seen(expected.size());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, parent, CL_TRUE, 0, seen.size(), seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(expected, seen));
}

TEST_F(SplitBuffers, OverlappingSubBuffersInTurn) {
  // Kernels write through one part, others read through another that overlaps it.
  const Kernel copy = kernel("copy_words");
  const size_t words = 8192;
  const size_t origin = round_up(4096, alignment());
  const size_t shift = origin / 4;
  std::vector<cl_uint> expected = noise_of<cl_uint>(words + shift, 8);
  const Buffer parent = make_buffer_of(expected);
  const Buffer other = make_buffer(words * 4);
  const Buffer low = make_sub_buffer(parent, 0, words * 4);
  const Buffer high = make_sub_buffer(parent, origin, words * 4);
  std::vector<cl_uint> host(words);
  for (cl_uint round = 1; round <= 4; ++round) {
    // low -> other -> high: what was at i arrives at i + shift, plus twice the round.
    set_args(copy, low, other, static_cast<cl_uint>(words), round);
    launch(copy, words);
    set_args(copy, other, high, static_cast<cl_uint>(words), round);
    launch(copy, words);
    for (size_t i = 0; i < words; ++i) host[i] = expected[i] + 2 * round;
    std::copy(host.begin(), host.end(), expected.begin() + static_cast<ptrdiff_t>(shift));
  }
  std::vector<cl_uint> seen(expected.size());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, parent, CL_TRUE, 0, seen.size() * 4, seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(expected, seen));
}

TEST_F(SplitBuffers, OverlappingSubBuffersInOneLaunch) {
  // Both parts are read, a third buffer is written.
  const Kernel three = kernel("three_in_two_out");
  const size_t n = 6400;
  const size_t origin = round_up(1000, alignment());
  const size_t shift = origin / 4;
  std::vector<cl_int> values = noise_of<cl_int>(n + shift + 64, 9);
  for (cl_int& value : values) value /= 8;
  const Buffer parent = make_buffer_of(values);
  const size_t bytes = (n + 64) * 4;
  const Buffer low = make_sub_buffer(parent, 0, bytes);
  const Buffer high = make_sub_buffer(parent, origin, bytes);
  const std::vector<cl_int> c = {0, 1, 2, 3, 4};
  const Buffer constants = make_buffer_of(c);
  Guarded<cl_int> sum(std::vector<cl_int>(n, 0));
  Guarded<cl_int> difference(std::vector<cl_int>(n, 0));
  const Buffer out_sum = upload(sum);
  const Buffer out_difference = upload(difference);
  set_args(three, low, high, constants, out_sum, out_difference, static_cast<cl_uint>(n));
  launch(three, n);
  for (size_t i = 0; i < n; ++i) {
    sum[i] = values[32 + i] + values[32 + shift + i] + c[i % 5];
    difference[i] = values[32 + i] - values[32 + shift + i];
  }
  EXPECT_TRUE(matches(sum, out_sum));
  EXPECT_TRUE(matches(difference, out_difference));
}

TEST_F(SplitBuffers, OverlappingSubBuffersWrittenDisjointly) {
  // One part is written at its start, the other at its end: the bytes differ, the parts overlap.
  const Kernel same = kernel("same_twice");
  const size_t n = 6400;
  const size_t origin = round_up(2048, alignment());
  const size_t shift = origin / 4;
  std::vector<cl_uint> expected = noise_of<cl_uint>(2 * n + 64 + shift, 10);
  const Buffer parent = make_buffer_of(expected);
  const Buffer low = make_sub_buffer(parent, 0, (2 * n + 64) * 4);
  const Buffer high = make_sub_buffer(parent, origin, (2 * n + 64) * 4);
  // in = low[32 ...], out = high[32 + n ...], that is parent[shift + 32 + n ...]
  set_args(same, low, high, static_cast<cl_uint>(n));
  launch(same, n);
  for (size_t i = 0; i < n; ++i) expected[shift + 32 + n + i] = expected[32 + i] * 2 + 1;
  std::vector<cl_uint> seen(expected.size());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, parent, CL_TRUE, 0, seen.size() * 4, seen.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(same_elements(expected, seen));
}

}  // namespace
}  // namespace tutti::api_tests
