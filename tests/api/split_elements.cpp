// SPDX-License-Identifier: Apache-2.0
//
// Element types and kinds of arguments in split launches.
#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitElements = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitElements, testing::ValuesIn(kSplitSizes));

TEST_P(SplitElements, Chars) {
  const Kernel chars = kernel("chars");
  Guarded<cl_char> expected(noise_of<cl_char>(n_, 1));
  const Buffer data = upload(expected);
  set_args(chars, data, static_cast<cl_uint>(n_));
  launch(chars, n_);
  for (size_t i = 0; i < n_; ++i) {
    expected[i] = static_cast<cl_char>(expected[i] * 3 + static_cast<cl_char>(i));
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitElements, Shorts) {
  const Kernel shorts = kernel("shorts");
  const Guarded<cl_short> in(noise_of<cl_short>(n_, 2));
  Guarded<cl_short> expected(noise_of<cl_short>(n_, 3));
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(shorts, buffer_in, out, static_cast<cl_uint>(n_));
  launch(shorts, n_);
  for (size_t i = 0; i < n_; ++i) {
    expected[i] = static_cast<cl_short>(in[i] ^ static_cast<cl_short>(i));
  }
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitElements, Longs) {
  const Kernel longs = kernel("longs");
  Guarded<cl_ulong> expected(noise_of<cl_ulong>(n_, 4));
  const Buffer data = upload(expected);
  set_args(longs, data, static_cast<cl_uint>(n_));
  launch(longs, n_);
  for (size_t i = 0; i < n_; ++i) expected[i] = expected[i] * 6364136223846793005ull + i;
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitElements, VectorsAndVectorArgument) {
  const Kernel vectors = kernel("float4s");
  // Small whole numbers: the products are exact, so that bytes can be compared.
  std::vector<cl_float> values(4 * n_);
  const std::vector<uint8_t> bytes = noise(4 * n_, 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<cl_float>(bytes[i]) + 1;
  std::vector<cl_float4> in_values(n_);
  std::memcpy(in_values.data(), values.data(), n_ * sizeof(cl_float4));
  const Guarded<cl_float4> in(in_values);
  Guarded<cl_float4> expected(in_values, 6);
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  const cl_float4 scale = {{0.5F, 2, 4, -8}};
  set_args(vectors, buffer_in, out, scale, static_cast<cl_uint>(n_));
  launch(vectors, n_);
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < 4; ++k) expected[i].s[k] = in[i].s[3 - k] * scale.s[k];
  }
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitElements, ThreeComponentVectors) {
  // An int3 takes 16 bytes; what a store of it does to the fourth word is left open, so that word
  // is not compared.
  const Kernel int3s = kernel("int3s");
  const Guarded<cl_int4> in(noise_of<cl_int4>(n_, 7));
  Guarded<cl_int4> expected(noise_of<cl_int4>(n_, 8));
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(int3s, buffer_in, out, static_cast<cl_uint>(n_));
  launch(int3s, n_);
  std::vector<cl_int4> seen(expected.total());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, out, CL_TRUE, 0, expected.bytes(), seen.data(), 0,
                                     nullptr, nullptr));
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      expected[i].s[k] = static_cast<cl_int>(static_cast<cl_uint>(in[i].s[k]) + k + 1);
    }
    expected[i].s[3] = seen[Guarded<cl_int4>::kGuard + i].s[3];
  }
  EXPECT_TRUE(same_elements(expected.all(), seen));
}

TEST_P(SplitElements, PackedThreeComponentVectors) {
  const Kernel packed = kernel("packed3");
  const Guarded<cl_int> in(noise_of<cl_int>(3 * n_, 9));
  Guarded<cl_int> expected(noise_of<cl_int>(3 * n_, 10));
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(packed, buffer_in, out, static_cast<cl_uint>(n_));
  launch(packed, n_);
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < 3; ++k) expected[3 * i + k] = in[3 * i + 2 - k];
  }
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitElements, StructArgumentByValue) {
  struct alignas(16) Parameters {
    cl_uint factor;
    cl_short term;
    alignas(16) cl_uint mask[4];
  };
  const Kernel by_struct = kernel("by_struct");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 11));
  const Buffer data = upload(expected);
  const Parameters parameters = {21, -300, {1, 2, 0xabcdef, 4}};
  set_args(by_struct, data, parameters, static_cast<cl_uint>(n_));
  launch(by_struct, n_);
  for (size_t i = 0; i < n_; ++i) {
    expected[i] = (expected[i] * 21 + static_cast<cl_uint>(-300)) ^ 0xabcdefu;
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitElements, StructElementsKeepTheirPadding) {
  struct Item {
    cl_int key;
    cl_uchar tag;
    cl_uchar padding[3];
  };
  const Kernel items = kernel("struct_elements");
  Guarded<Item> expected(noise_of<Item>(n_, 12));
  const Buffer data = upload(expected);
  set_args(items, data, static_cast<cl_uint>(n_));
  launch(items, n_);
  std::vector<Item> seen(expected.total());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, data, CL_TRUE, 0, expected.bytes(), seen.data(), 0,
                                     nullptr, nullptr));
  for (size_t i = 0; i < n_; ++i) {
    expected[i].key =
        static_cast<cl_int>(static_cast<cl_uint>(expected[i].key) + static_cast<cl_uint>(i));
    expected[i].tag = static_cast<cl_uchar>(i * 5);
  }
  // Byte for byte: members are written apart, the padding between them is not.
  std::vector<uint8_t> wanted(expected.bytes());
  std::vector<uint8_t> got(expected.bytes());
  std::memcpy(wanted.data(), expected.all().data(), wanted.size());
  std::memcpy(got.data(), seen.data(), got.size());
  EXPECT_TRUE(same_elements(wanted, got));
}

TEST_P(SplitElements, SmallVectors) {
  const Kernel pairs = kernel("pairs");
  Guarded<cl_uint2> expected(noise_of<cl_uint2>(n_, 13));
  const Buffer out = upload(expected);
  const cl_uint2 start = {{1000, 7}};
  set_args(pairs, out, static_cast<cl_uint>(n_), start);
  launch(pairs, n_);
  for (size_t i = 0; i < n_; ++i) {
    const auto x = static_cast<cl_uint>(i);
    expected[i] = {{1000 + x, 7 + x * x}};
  }
  EXPECT_TRUE(matches(expected, out));
}

}  // namespace
}  // namespace tutti::api_tests
