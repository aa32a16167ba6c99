// SPDX-License-Identifier: Apache-2.0
//
// Launches whose work-groups write to places that cannot be told apart beforehand, or only as
// strips: what several devices write must become one result, and stay it over further commands.
#include <algorithm>
#include <numeric>
#include <random>

#include "split.h"

namespace tutti::api_tests {
namespace {

const char* const kMerges = R"(
kernel void scatter_bytes(global const uint* index, global uchar* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[index[i]] = (uchar)(i * 7 + 1);
}
kernel void scatter_shorts(global const uint* index, global ushort* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[index[i]] += (ushort)i;
}
kernel void scatter_structs(global const uint* index, global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  out[index[i] * 3] = i;
  out[index[i] * 3 + 2] = ~i;
}
kernel void gather(global const uint* index, global const ushort* in, global ushort* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[i] = in[index[i]];
}
kernel void any_winner(global const uint* index, global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[index[i] % 97] = i * 0x01010101u;
}
kernel void set_flags(global const uint* index, global uchar* seen, global uint* any, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  if (index[i] % 3 == 0) seen[index[i] / 2] = 1;
  if (index[i] == 5) *any = 1;
}
kernel void planes(global uint* out, uint n, uint plane) {
  uint i = get_global_id(0);
  if (i >= n) return;
  for (uint p = 0; p < 5; ++p) out[p * plane + i] = out[p * plane + i] * 3 + p;
}
kernel void grid_stride(global const uint* in, global uint* out, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = in[i] ^ i;
}
kernel void columns(global int* out, uint width, uint height) {
  uint x = get_global_id(0);
  if (x < width)
    for (uint y = 0; y < height; ++y) out[y * width + x] += (int)(x * 1000 + y);
}
kernel void tally(global const uint* in, volatile global int* sums, volatile global uint* bits,
                  uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  atomic_add(&sums[in[i] % 61], (int)i);
  atomic_sub(&sums[in[i] % 59], 3);
  atomic_or(&bits[in[i] % 31], 1u << (i % 32));
}
kernel void two_views(global const uint* in, volatile global uint* a, volatile global uint* b,
                      uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  atomic_inc(&a[in[i] % 16]);
  atomic_dec(&b[in[i] % 11]);
}
)";

class SplitMerges : public ContextTest, public testing::WithParamInterface<size_t> {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    queue_ = make_queue();
    program_ = build(kMerges);
    index_.resize(n_);
    std::iota(index_.begin(), index_.end(), cl_uint{0});
    std::shuffle(index_.begin(), index_.end(), std::mt19937(7));
  }
  Kernel kernel(const char* name) const { return make_kernel(program_, name); }
  void launch(cl_kernel kernel, size_t items, size_t group = kGroup) const {
    const size_t global = round_up(items, group);
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &global, &group, 0, nullptr, nullptr));
  }
  template <typename T>
  std::vector<T> read(cl_mem buffer, size_t count) const {
    std::vector<T> data(count);
    EXPECT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(T), data.data(),
                                       0, nullptr, nullptr));
    return data;
  }

  const size_t n_ = GetParam();
  const cl_uint count_ = static_cast<cl_uint>(n_);
  Queue queue_;
  Program program_;
  std::vector<cl_uint> index_;  // a permutation
};

INSTANTIATE_TEST_SUITE_P(Sizes, SplitMerges,
                         testing::Values(size_t{65}, size_t{1000}, size_t{4099}, size_t{40009}));

TEST_P(SplitMerges, NeighbouringBytesOfDifferentDevices) {
  std::vector<cl_uchar> expected = noise(n_ + 3, 1);
  const Buffer index = make_buffer_of(index_);
  const Buffer out = make_buffer_of(expected);
  const Kernel scatter = kernel("scatter_bytes");
  set_args(scatter, index, out, count_);
  launch(scatter, n_);
  for (size_t i = 0; i < n_; ++i) expected[index_[i]] = static_cast<cl_uchar>(i * 7 + 1);
  EXPECT_TRUE(same_elements(expected, read<cl_uchar>(out, expected.size())));
}

TEST_P(SplitMerges, ScattersAndGathersInTurns) {
  std::vector<cl_ushort> a = noise_of<cl_ushort>(n_, 1), b = noise_of<cl_ushort>(n_, 2);
  const Buffer index = make_buffer_of(index_);
  const Buffer buffer_a = make_buffer_of(a), buffer_b = make_buffer_of(b);
  const Kernel scatter = kernel("scatter_shorts"), gather = kernel("gather");
  for (int round = 0; round < 3; ++round) {
    set_args(scatter, index, buffer_a, count_);
    launch(scatter, n_);
    set_args(gather, index, buffer_a, buffer_b, count_);
    launch(gather, n_);
    set_args(scatter, index, buffer_b, count_);
    launch(scatter, n_);
    for (size_t i = 0; i < n_; ++i) a[index_[i]] = static_cast<cl_ushort>(a[index_[i]] + i);
    for (size_t i = 0; i < n_; ++i) b[i] = a[index_[i]];
    for (size_t i = 0; i < n_; ++i) b[index_[i]] = static_cast<cl_ushort>(b[index_[i]] + i);
  }
  EXPECT_TRUE(same_elements(a, read<cl_ushort>(buffer_a, n_)));
  EXPECT_TRUE(same_elements(b, read<cl_ushort>(buffer_b, n_)));
}

TEST_P(SplitMerges, ThroughASubBuffer) {
  // What lies around the window stays, and the window follows its parent.
  const size_t origin = alignment();
  std::vector<cl_uint> expected = noise_of<cl_uint>(origin / 4 + 3 * n_ + 5, 3);
  const Buffer index = make_buffer_of(index_);
  const Buffer parent = make_buffer_of(expected);
  const Buffer window = make_sub_buffer(parent, origin, 3 * n_ * 4);
  const Kernel scatter = kernel("scatter_structs");
  set_args(scatter, index, window, count_);
  launch(scatter, n_);
  for (size_t i = 0; i < n_; ++i) {
    expected[origin / 4 + index_[i] * 3] = static_cast<cl_uint>(i);
    expected[origin / 4 + index_[i] * 3 + 2] = ~static_cast<cl_uint>(i);
  }
  EXPECT_TRUE(same_elements(expected, read<cl_uint>(parent, expected.size())));
}

TEST_P(SplitMerges, OneOfTheValuesStoredWins) {
  // A race that programs allow themselves; elements must not be torn.
  std::vector<cl_uint> before(97, 0xfefefefe);
  const Buffer index = make_buffer_of(index_);
  const Buffer out = make_buffer_of(before);
  const Kernel winner = kernel("any_winner");
  set_args(winner, index, out, count_);
  launch(winner, n_);
  std::vector<std::vector<cl_uint>> candidates(97);
  for (size_t i = 0; i < n_; ++i) {
    candidates[index_[i] % 97].push_back(static_cast<cl_uint>(i * 0x01010101u));
  }
  const std::vector<cl_uint> seen = read<cl_uint>(out, 97);
  for (size_t k = 0; k < 97; ++k) {
    if (candidates[k].empty()) candidates[k].push_back(0xfefefefe);
    EXPECT_TRUE(std::find(candidates[k].begin(), candidates[k].end(), seen[k]) !=
                candidates[k].end())
        << "element " << k << ": " << seen[k];
  }
}

TEST_P(SplitMerges, FlagsThatManySet) {
  std::vector<cl_uchar> seen(n_, 0);
  std::vector<cl_uint> any{0};
  const Buffer index = make_buffer_of(index_);
  const Buffer buffer_seen = make_buffer_of(seen), buffer_any = make_buffer_of(any);
  const Kernel flags = kernel("set_flags");
  set_args(flags, index, buffer_seen, buffer_any, count_);
  launch(flags, n_);
  for (size_t i = 0; i < n_; i += 3) seen[i / 2] = 1;
  EXPECT_TRUE(same_elements(seen, read<cl_uchar>(buffer_seen, n_)));
  EXPECT_EQ(read<cl_uint>(buffer_any, 1)[0], 1u);
}

TEST_P(SplitMerges, StructureOfArrays) {
  for (const size_t plane : {n_ + 63, n_ + 1000}) {
    std::vector<cl_uint> expected = noise_of<cl_uint>(5 * plane, 4);
    const Buffer out = make_buffer_of(expected);
    const Kernel planes = kernel("planes");
    set_args(planes, out, count_, static_cast<cl_uint>(plane));
    for (int round = 0; round < 2; ++round) {
      launch(planes, n_);
      for (cl_uint p = 0; p < 5; ++p) {
        for (size_t i = 0; i < n_; ++i) {
          cl_uint& element = expected[p * plane + i];
          element = element * 3 + p;
        }
      }
    }
    ASSERT_TRUE(same_elements(expected, read<cl_uint>(out, expected.size())));
  }
}

TEST_P(SplitMerges, GridStrideLoopsOfSeveralWidths) {
  const std::vector<cl_uint> in = noise_of<cl_uint>(n_, 5);
  const Buffer buffer_in = make_buffer_of(in);
  const Kernel stride = kernel("grid_stride");
  for (const size_t items : {kGroup * 2, kGroup * 7, kGroup * 32}) {
    std::vector<cl_uint> expected = noise_of<cl_uint>(n_ + 17, 6);
    const Buffer out = make_buffer_of(expected);
    set_args(stride, buffer_in, out, count_);
    launch(stride, items);
    // And once more over what it wrote.
    set_args(stride, out, out, count_);
    launch(stride, items);
    for (size_t i = 0; i < n_; ++i) expected[i] = in[i];
    ASSERT_TRUE(same_elements(expected, read<cl_uint>(out, expected.size())));
  }
}

TEST_P(SplitMerges, ColumnsReadByRowsAndMapped) {
  const size_t width = 300, height = n_ / 300 + 2;
  std::vector<cl_int> expected = noise_of<cl_int>(width * height, 7);
  const Buffer out = make_buffer_of(expected);
  const Kernel columns = kernel("columns");
  set_args(columns, out, static_cast<cl_uint>(width), static_cast<cl_uint>(height));
  launch(columns, width, 16);
  for (size_t i = 0; i < expected.size(); ++i) {
    // Unsigned, since it wraps.
    expected[i] = static_cast<cl_int>(static_cast<cl_uint>(expected[i]) +
                                      static_cast<cl_uint>(i % width * 1000 + i / width));
  }
  // A piece first, then the map of everything.
  std::vector<cl_int> piece(width + 11);
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, out, CL_TRUE, 5 * 4, piece.size() * 4, piece.data(), 0,
                                     nullptr, nullptr));
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), expected.begin() + 5));
  cl_int code = CL_SUCCESS;
  auto* mapped = static_cast<cl_int*>(clEnqueueMapBuffer(
      queue_, out, CL_TRUE, CL_MAP_READ, 0, expected.size() * 4, 0, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mapped));
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, out, mapped, 0, nullptr, nullptr));
  ASSERT_SUCCESS(clFinish(queue_));
}

TEST_P(SplitMerges, TalliesOfTwoKinds) {
  const std::vector<cl_uint> in = noise_of<cl_uint>(n_, 8);
  std::vector<cl_uint> sums = noise_of<cl_uint>(70, 9), bits = noise_of<cl_uint>(40, 10);
  const Buffer buffer_in = make_buffer_of(in);
  const Buffer buffer_sums = make_buffer_of(sums), buffer_bits = make_buffer_of(bits);
  const Kernel tally = kernel("tally");
  for (int round = 0; round < 2; ++round) {
    set_args(tally, buffer_in, buffer_sums, buffer_bits, count_);
    launch(tally, n_);
    for (size_t i = 0; i < n_; ++i) {
      sums[in[i] % 61] += static_cast<cl_uint>(i);
      sums[in[i] % 59] -= 3;
      bits[in[i] % 31] |= cl_uint{1} << (i % 32);
    }
  }
  EXPECT_TRUE(same_elements(sums, read<cl_uint>(buffer_sums, sums.size())));
  EXPECT_TRUE(same_elements(bits, read<cl_uint>(buffer_bits, bits.size())));
}

TEST_P(SplitMerges, OneBufferAsTwoArguments) {
  const std::vector<cl_uint> in = noise_of<cl_uint>(n_, 11);
  std::vector<cl_uint> expected = noise_of<cl_uint>(32, 12);
  const Buffer buffer_in = make_buffer_of(in);
  const Buffer out = make_buffer_of(expected);
  const Kernel views = kernel("two_views");
  set_args(views, buffer_in, out, out, count_);
  launch(views, n_);
  for (size_t i = 0; i < n_; ++i) {
    ++expected[in[i] % 16];
    --expected[in[i] % 11];
  }
  EXPECT_TRUE(same_elements(expected, read<cl_uint>(out, expected.size())));
}

}  // namespace
}  // namespace tutti::api_tests
