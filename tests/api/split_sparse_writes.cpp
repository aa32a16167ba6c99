// SPDX-License-Identifier: Apache-2.0
//
// Kernels that write only some elements: the others keep their old value, byte for byte.
#include <algorithm>
#include <numeric>

#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitSparseWrites = SplitTest;
using SplitSparseWritesSizes = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitSparseWritesSizes, testing::ValuesIn(kSplitSizes));

// A permutation of 0 ... n-1 that does not keep neighbours together.
std::vector<cl_uint> permutation(size_t n) {
  std::vector<cl_uint> index(n);
  std::iota(index.begin(), index.end(), cl_uint{0});
  const std::vector<cl_uint> keys = noise_of<cl_uint>(n, 77);
  std::sort(index.begin(), index.end(),
            [&](cl_uint a, cl_uint b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  return index;
}

TEST_P(SplitSparseWritesSizes, EveryThird) {
  const Kernel third = kernel("every_third");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 1));
  const Buffer out = upload(expected);
  set_args(third, out, static_cast<cl_uint>(n_));
  launch(third, n_);
  for (size_t i = 1; i < n_; i += 3) expected[i] = static_cast<cl_uint>(i);
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, Strided) {
  const Kernel strided = kernel("strided");
  for (const cl_uint stride : {2u, 7u}) {
    Guarded<cl_uint> expected(noise_of<cl_uint>(n_ * stride, 2));
    const Buffer out = upload(expected);
    set_args(strided, out, static_cast<cl_uint>(n_), stride);
    launch(strided, n_);
    for (size_t i = 0; i < n_; ++i) expected[i * stride] = static_cast<cl_uint>(i) ^ 0x5555u;
    ASSERT_TRUE(matches(expected, out));
  }
}

TEST_P(SplitSparseWritesSizes, WhereAFlagIsSet) {
  const Kernel where = kernel("where_flag");
  const Guarded<cl_uchar> flags(noise(n_, 3));
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 4));
  const Buffer out = upload(expected);
  const Buffer flag = upload(flags);
  // Twice: the second time starts from what the first one left.
  for (int round = 0; round < 2; ++round) {
    set_args(where, out, flag, static_cast<cl_uint>(n_));
    launch(where, n_);
    for (size_t i = 0; i < n_; ++i) expected[i] += flags[i] > 127 ? 1000 : 0;
  }
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, DataDependentLoops) {
  const Kernel loop = kernel("loop_writes");
  std::vector<cl_uint> counts = noise_of<cl_uint>(n_, 5);
  for (cl_uint& count : counts) count %= 5;  // 0: no trip at all
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_ * 4, 6));
  const Guarded<cl_uint> guarded_counts(counts);
  const Buffer out = upload(expected);
  const Buffer count = upload(guarded_counts);
  set_args(loop, out, count, static_cast<cl_uint>(n_));
  launch(loop, n_);
  for (size_t i = 0; i < n_; ++i) {
    for (cl_uint k = 0; k < counts[i]; ++k) {
      expected[i * 4 + k] = static_cast<cl_uint>(i) * 10 + k;
    }
  }
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, LoopBoundsFromArguments) {
  const Kernel loop = kernel("bounded_loop");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_ * 8, 7));
  const Buffer out = upload(expected);
  struct Case {
    cl_uint from, to;
  };
  // The middle ones make no trip.
  for (const Case& c : {Case{0, 3}, Case{4, 4}, Case{7, 2}, Case{5, 8}}) {
    set_args(loop, out, static_cast<cl_uint>(n_), c.from, c.to);
    launch(loop, n_);
    for (size_t i = 0; i < n_; ++i) {
      for (cl_uint k = c.from; k < c.to; ++k) {
        expected[i * 8 + k] = static_cast<cl_uint>(i) + k;
      }
    }
    ASSERT_TRUE(matches(expected, out));
  }
}

TEST_P(SplitSparseWritesSizes, Permuted) {
  const Kernel scatter = kernel("scatter");
  const std::vector<cl_uint> index = permutation(n_);
  const Guarded<cl_int> in(noise_of<cl_int>(n_, 8));
  const Guarded<cl_uint> guarded_index(index);
  Guarded<cl_int> expected(noise_of<cl_int>(n_, 9));
  const Buffer buffer_in = upload(in);
  const Buffer buffer_index = upload(guarded_index);
  const Buffer out = upload(expected);
  set_args(scatter, buffer_in, buffer_index, out, static_cast<cl_uint>(n_));
  launch(scatter, n_);
  for (size_t i = 0; i < n_; ++i) expected[index[i]] = in[i];
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, PermutedIntoALargerBuffer) {
  // Half of the targets are never written.
  const Kernel scatter = kernel("scatter");
  std::vector<cl_uint> index = permutation(n_);
  for (cl_uint& each : index) each = each * 2 + 1;
  const Guarded<cl_int> in(noise_of<cl_int>(n_, 10));
  const Guarded<cl_uint> guarded_index(index);
  Guarded<cl_int> expected(noise_of<cl_int>(2 * n_, 11));
  const Buffer buffer_in = upload(in);
  const Buffer buffer_index = upload(guarded_index);
  const Buffer out = upload(expected);
  set_args(scatter, buffer_in, buffer_index, out, static_cast<cl_uint>(n_));
  launch(scatter, n_);
  for (size_t i = 0; i < n_; ++i) expected[index[i]] = in[i];
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, Gathered) {
  const Kernel gather = kernel("gather");
  std::vector<cl_uint> index = noise_of<cl_uint>(n_, 12);
  for (cl_uint& each : index) each %= static_cast<cl_uint>(n_);
  const Guarded<cl_int> in(noise_of<cl_int>(n_, 13));
  const Guarded<cl_uint> guarded_index(index);
  Guarded<cl_int> expected(noise_of<cl_int>(n_, 14));
  const Buffer buffer_in = upload(in);
  const Buffer buffer_index = upload(guarded_index);
  const Buffer out = upload(expected);
  set_args(gather, buffer_in, buffer_index, out, static_cast<cl_uint>(n_));
  launch(gather, n_);
  for (size_t i = 0; i < n_; ++i) expected[i] = in[index[i]];
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitSparseWritesSizes, Reversed) {
  const Kernel reversed = kernel("reversed");
  const Guarded<cl_int> in(noise_of<cl_int>(n_, 15));
  Guarded<cl_int> expected(noise_of<cl_int>(n_, 16));
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(reversed, buffer_in, out, static_cast<cl_uint>(n_));
  launch(reversed, n_);
  for (size_t i = 0; i < n_; ++i) expected[n_ - 1 - i] = in[i];
  EXPECT_TRUE(matches(expected, out));
}

TEST_F(SplitSparseWrites, Transposed) {
  const Kernel transpose = kernel("transpose");
  const std::pair<size_t, size_t> sizes[] = {{128, 64}, {129, 67}, {1, 1000}, {1003, 3}};
  for (const auto& [w, h] : sizes) {
    const Guarded<cl_int> in(noise_of<cl_int>(w * h, 17));
    Guarded<cl_int> expected(noise_of<cl_int>(w * h, 18));
    const Buffer buffer_in = upload(in);
    const Buffer out = upload(expected);
    set_args(transpose, buffer_in, out, static_cast<cl_uint>(w), static_cast<cl_uint>(h));
    launch2(transpose, w, h);
    for (size_t y = 0; y < h; ++y) {
      for (size_t x = 0; x < w; ++x) expected[x * h + y] = in[y * w + x];
    }
    ASSERT_TRUE(matches(expected, out)) << w << " x " << h;
  }
}

TEST_F(SplitSparseWrites, OneGroupOnly) {
  const Kernel first = kernel("only_first_group");
  Guarded<cl_uint> expected(noise_of<cl_uint>(6400, 19));
  const Buffer out = upload(expected);
  set_args(first, out);
  launch(first, 6400);
  for (size_t i = 0; i < kGroup; ++i) expected[i] = 5;
  EXPECT_TRUE(matches(expected, out));
}

TEST_F(SplitSparseWrites, LastItemOnly) {
  const Kernel last = kernel("last_item");
  Guarded<cl_uint> expected(noise_of<cl_uint>(6400, 20));
  const Buffer out = upload(expected);
  set_args(last, out);
  launch(last, 6400);
  expected[0] = 6399;
  EXPECT_TRUE(matches(expected, out));
}

TEST_F(SplitSparseWrites, NothingAtAll) {
  const Kernel nothing = kernel("nothing");
  const Guarded<cl_uint> expected(noise_of<cl_uint>(6400, 21));
  const Buffer out = upload(expected);
  set_args(nothing, out, cl_uint{1});
  launch(nothing, 6400);
  EXPECT_TRUE(matches(expected, out));
}

}  // namespace
}  // namespace tutti::api_tests
