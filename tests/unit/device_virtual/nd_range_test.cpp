// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "icd/validate/enqueue_kernel.h"

namespace tutti::icd::validate {
namespace {

using Sizes = std::array<size_t, 3>;

NDRangeLimits limits() {
  NDRangeLimits result;
  result.max_work_item_sizes = {256, 128, 64};
  return result;
}

cl_int code(const Result<NDRangeShape>& result) {
  return result ? CL_SUCCESS : result.error().code;
}

TEST(NDRange, UnusedDimensionsAreOne) {
  const Sizes global{12, 99, 99}, offset{5, 99, 99};
  const auto result = nd_range({1, offset.data(), global.data(), nullptr}, limits());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->shape.dims, 1u);
  EXPECT_EQ(result->shape.global, (std::array<uint64_t, 3>{12, 1, 1}));
  EXPECT_EQ(result->shape.offset, (std::array<uint64_t, 3>{5, 0, 0}));
  EXPECT_EQ(result->shape.local, (std::array<uint64_t, 3>{1, 1, 1}));
  EXPECT_FALSE(result->local_given);
}

TEST(NDRange, WorkDimension) {
  const Sizes global{1, 1, 1};
  EXPECT_EQ(code(nd_range({0, nullptr, global.data(), nullptr}, limits())),
            CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(code(nd_range({4, nullptr, global.data(), nullptr}, limits())),
            CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(code(nd_range({3, nullptr, global.data(), nullptr}, limits())), CL_SUCCESS);
}

TEST(NDRange, NothingToComputeIsAllowed) {
  const Sizes global{8, 0, 8};
  const auto zero = nd_range({3, nullptr, global.data(), nullptr}, limits());
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->shape.global[0], 0u);
  const auto null = nd_range({2, nullptr, nullptr, nullptr}, limits());
  ASSERT_TRUE(null);
  EXPECT_EQ(null->shape.global[0], 0u);
  // A zero in a dimension that is not passed means nothing.
  const auto unused = nd_range({1, nullptr, global.data(), nullptr}, limits());
  ASSERT_TRUE(unused);
  EXPECT_EQ(unused->shape.global[0], 8u);
}

TEST(NDRange, OffsetOverflow) {
  const Sizes global{16, 1, 1}, fits{SIZE_MAX - 16, 0, 0}, passes{SIZE_MAX - 15, 0, 0};
  EXPECT_EQ(code(nd_range({1, fits.data(), global.data(), nullptr}, limits())), CL_SUCCESS);
  EXPECT_EQ(code(nd_range({1, passes.data(), global.data(), nullptr}, limits())),
            CL_INVALID_GLOBAL_OFFSET);
}

TEST(NDRange, AddressRangeOf32BitDevices) {
  NDRangeLimits narrow = limits();
  narrow.address_bits = 32;
  const Sizes large{size_t{1} << 32, 1, 1}, small{16, 1, 1}, offset{0xffff'fff0u, 0, 0};
  EXPECT_EQ(code(nd_range({1, nullptr, large.data(), nullptr}, narrow)),
            CL_INVALID_GLOBAL_WORK_SIZE);
  EXPECT_EQ(code(nd_range({1, offset.data(), small.data(), nullptr}, narrow)),
            CL_INVALID_GLOBAL_OFFSET);
}

TEST(NDRange, LocalSizeMustDivide) {
  const Sizes global{64, 9, 1}, good{16, 3, 1}, bad{16, 2, 1}, zero{0, 3, 1};
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), good.data()}, limits())), CL_SUCCESS);
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), bad.data()}, limits())),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), zero.data()}, limits())),
            CL_INVALID_WORK_GROUP_SIZE);
}

TEST(NDRange, LastWorkGroupsMayBeSmaller) {
  NDRangeLimits smaller = limits();
  smaller.smaller_groups = true;
  const Sizes global{64, 9, 1}, ragged{16, 2, 1}, zero{0, 3, 1}, large{100, 128, 128};
  const auto taken = nd_range({2, nullptr, global.data(), ragged.data()}, smaller);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->shape.smaller_groups());
  EXPECT_EQ(taken->shape.local, (std::array<uint64_t, 3>{16, 2, 1}));
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), zero.data()}, smaller)),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(code(nd_range({3, nullptr, global.data(), large.data()}, smaller)),
            CL_INVALID_WORK_ITEM_SIZE);
  // Over two dimensions, launched over one.
  smaller.required_local = {8, 4, 1};
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), nullptr}, smaller)), CL_SUCCESS);
  EXPECT_EQ(code(nd_range({1, nullptr, global.data(), nullptr}, smaller)),
            CL_INVALID_WORK_GROUP_SIZE);
}

TEST(NDRange, WorkItemSizes) {
  const Sizes global{1024, 1024, 1024}, most{256, 128, 64}, passes{256, 128, 128};
  EXPECT_EQ(code(nd_range({3, nullptr, global.data(), most.data()}, limits())), CL_SUCCESS);
  EXPECT_EQ(code(nd_range({3, nullptr, global.data(), passes.data()}, limits())),
            CL_INVALID_WORK_ITEM_SIZE);
}

TEST(NDRange, RequiredLocalSize) {
  NDRangeLimits required = limits();
  required.required_local = {8, 4, 1};
  const Sizes global{64, 64, 1}, ragged{60, 64, 1}, other{16, 4, 1}, same{8, 4, 1};
  const auto taken = nd_range({2, nullptr, global.data(), nullptr}, required);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->local_given);
  EXPECT_EQ(taken->shape.local, (std::array<uint64_t, 3>{8, 4, 1}));
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), same.data()}, required)), CL_SUCCESS);
  EXPECT_EQ(code(nd_range({2, nullptr, global.data(), other.data()}, required)),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(code(nd_range({2, nullptr, ragged.data(), nullptr}, required)),
            CL_INVALID_WORK_GROUP_SIZE);
  // Required over two dimensions, launched over one.
  EXPECT_EQ(code(nd_range({1, nullptr, global.data(), nullptr}, required)),
            CL_INVALID_WORK_GROUP_SIZE);
}

}  // namespace
}  // namespace tutti::icd::validate
