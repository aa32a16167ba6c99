// SPDX-License-Identifier: Apache-2.0
//
// Work-item functions of split launches, in helpers and macros, over odd sizes with offsets.
#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitWorkItems = SplitTest;
using SplitWorkItemsSizes = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitWorkItemsSizes, testing::ValuesIn(kSplitSizes));

TEST_P(SplitWorkItemsSizes, HelpersOfHelpers) {
  const Kernel helper = kernel("helper_ids");
  const size_t global = round_up(n_, kGroup);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{1000}}) {
    Guarded<cl_uint> expected(std::vector<cl_uint>(n_, 0));
    const Buffer out = upload(expected);
    set_args(helper, out, static_cast<cl_uint>(n_));
    launch(helper, n_, offset);
    for (size_t i = 0; i < n_; ++i) {
      expected[i] = static_cast<cl_uint>(i / kGroup * 1000 + global / kGroup + global * 7 +
                                         offset * 11 + i % kGroup);
    }
    ASSERT_TRUE(matches(expected, out)) << "offset " << offset;
  }
}

TEST_P(SplitWorkItemsSizes, GridStrideLoop) {
  const Kernel stride = kernel("grid_stride");
  Guarded<cl_uint> expected(noise_of<cl_uint>(n_, 1));
  const Buffer data = upload(expected);
  set_args(stride, data, static_cast<cl_uint>(n_));
  launch(stride, 4096);
  for (size_t i = 0; i < n_; ++i) expected[i] += static_cast<cl_uint>(i);
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitWorkItemsSizes, OneResultPerGroup) {
  const Kernel result = kernel("write_group_result");
  const size_t groups = round_up(n_, kGroup) / kGroup;
  Guarded<cl_uint> expected(std::vector<cl_uint>(groups, 0));
  const Buffer out = upload(expected);
  set_args(result, out);
  launch(result, n_);
  for (size_t g = 0; g < groups; ++g) expected[g] = static_cast<cl_uint>(g * 3 + groups);
  EXPECT_TRUE(matches(expected, out));
}

TEST_F(SplitWorkItems, LinearGroupInTwoDimensions) {
  const Kernel macro = kernel("macro_ids");
  struct Case {
    size_t width, height, offset_x, offset_y;
  };
  for (const Case& c : {Case{128, 64, 0, 0}, Case{129, 67, 0, 0}, Case{17, 1001, 3, 5},
                        Case{1000, 13, 100, 0}, Case{1, 400, 0, 7}, Case{1003, 1, 0, 1}}) {
    SCOPED_TRACE(testing::Message() << c.width << " x " << c.height);
    Guarded<cl_uint> expected(std::vector<cl_uint>(c.width * c.height, 0));
    const Buffer out = upload(expected);
    set_args(macro, out, static_cast<cl_uint>(c.width), static_cast<cl_uint>(c.height));
    launch2(macro, c.width, c.height, c.offset_x, c.offset_y);
    const size_t groups_x = round_up(c.width, kGroup2[0]) / kGroup2[0];
    for (size_t y = 0; y < c.height; ++y) {
      for (size_t x = 0; x < c.width; ++x) {
        const size_t group = y / kGroup2[1] * groups_x + x / kGroup2[0];
        expected[y * c.width + x] =
            static_cast<cl_uint>(group * 100 + y % kGroup2[1] * 16 + x % kGroup2[0]);
      }
    }
    ASSERT_TRUE(matches(expected, out));
  }
}

TEST_F(SplitWorkItems, LinearGroupInThreeDimensions) {
  const Kernel ids = kernel("ids_3d");
  struct Case {
    std::array<size_t, 3> size, offset;
  };
  for (const Case& c : {Case{{16, 16, 16}, {0, 0, 0}}, Case{{13, 7, 101}, {0, 0, 0}},
                        Case{{101, 7, 13}, {1, 2, 3}}, Case{{5, 203, 6}, {0, 50, 9}}}) {
    const auto [w, h, d] = c.size;
    Guarded<cl_uint> expected(std::vector<cl_uint>(w * h * d, 0));
    const Buffer out = upload(expected);
    set_args(ids, out, static_cast<cl_uint>(w), static_cast<cl_uint>(h), static_cast<cl_uint>(d));
    launch3(ids, c.size, c.offset);
    const size_t groups_x = round_up(w, 4) / 4;
    const size_t groups_y = round_up(h, 4) / 4;
    for (size_t i = 0; i < w * h * d; ++i) {
      const size_t x = i % w;
      const size_t y = i / w % h;
      const size_t z = i / w / h;
      const size_t group = (z / 4 * groups_y + y / 4) * groups_x + x / 4;
      expected[i] =
          static_cast<cl_uint>(group * 64 + (z % 4 * 4 + y % 4) * 4 + x % 4 + c.offset[2] * 100000);
    }
    ASSERT_TRUE(matches(expected, out));
  }
}

}  // namespace
}  // namespace tutti::api_tests
