// SPDX-License-Identifier: Apache-2.0
// Of commands that may be updated, what needs no device.
#include "icd/validate/mutable_command.h"

#include <gtest/gtest.h>

#include "icd/validate/property_list.h"

namespace tutti::icd::validate {
namespace {

using device_virtual::GivenRange;

TEST(GivenRange, ReplacesWhatIsGiven) {
  GivenRange range{2};
  const size_t offset[] = {1, 2, 77}, global[] = {3, 4, 77}, local[] = {5, 6, 77};
  range.replace(nullptr, global, nullptr);
  EXPECT_EQ(range.global, (std::array<size_t, 3>{3, 4, 0}));
  EXPECT_EQ(range.offset, (std::array<size_t, 3>{}));
  EXPECT_FALSE(range.local_given);
  range.replace(offset, nullptr, local);
  EXPECT_EQ(range.offset, (std::array<size_t, 3>{1, 2, 0}));
  EXPECT_EQ(range.global, (std::array<size_t, 3>{3, 4, 0}));
  EXPECT_EQ(range.local, (std::array<size_t, 3>{5, 6, 0}));
  EXPECT_TRUE(range.local_given);
}

TEST(PropertyList, IsKeptWithItsEnd) {
  const auto any = [](cl_properties, cl_properties) { return Status{}; };
  EXPECT_TRUE(property_list(nullptr, any)->empty());
  const cl_properties empty[] = {0}, two[] = {5, 1, 3, 0, 0}, twice[] = {5, 1, 5, 1, 0};
  EXPECT_EQ(*property_list(empty, any), std::vector<cl_properties>{0});
  const auto list = *property_list(two, any);
  EXPECT_EQ(list, (std::vector<cl_properties>{5, 1, 3, 0, 0}));
  EXPECT_EQ(device_virtual::property_in(list, 5, 9), 1u);
  EXPECT_EQ(device_virtual::property_in(list, 3, 9), 0u);
  EXPECT_EQ(device_virtual::property_in(list, 0, 9), 9u);
  EXPECT_EQ(property_list(twice, any).error().code, CL_INVALID_VALUE);
}

/// A launch of one dimension; local 0: none is given.
NDRangeShape shape_of(size_t global, size_t local) {
  NDRangeShape result;
  result.shape.dims = 1;
  result.shape.global[0] = global;
  result.local_given = local != 0;
  if (local != 0) result.shape.local[0] = local;
  return result;
}

TEST(SameUniformity, IsOfGroupsThatAreThere) {
  EXPECT_TRUE(same_uniformity(shape_of(64, 8), shape_of(32, 16)));
  EXPECT_TRUE(same_uniformity(shape_of(65, 8), shape_of(33, 16)));
  EXPECT_EQ(same_uniformity(shape_of(64, 8), shape_of(65, 8)).error().code, CL_INVALID_OPERATION);
  EXPECT_EQ(same_uniformity(shape_of(65, 8), shape_of(65, 5)).error().code, CL_INVALID_OPERATION);
  EXPECT_TRUE(same_uniformity(shape_of(65, 8), shape_of(0, 8)));
  EXPECT_TRUE(same_uniformity(shape_of(0, 8), shape_of(65, 8)));
  EXPECT_TRUE(same_uniformity(shape_of(64, 0), shape_of(65, 8)));
}

}  // namespace
}  // namespace tutti::icd::validate
