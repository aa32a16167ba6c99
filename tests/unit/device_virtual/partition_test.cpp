// SPDX-License-Identifier: Apache-2.0
// Which compute units a part gets, and which requests are refused.
#include "device_virtual/partition.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::device_virtual {
namespace {

using Devices = std::vector<Dividend>;
using Units = std::vector<uint32_t>;
using Parts = std::vector<Part>;

Parts parts(const Devices& devices, const Units& units) {
  auto result = divide(devices, units);
  return result ? *result : Parts();
}

TEST(Partition, WholeDevicesWhereTheirUnitsMatch) {
  const Devices two = {{1, 1}, {1, 1}};
  EXPECT_EQ(parts(two, {1, 1}), (Parts{{{0, 1}}, {{1, 1}}}));
  EXPECT_EQ(parts(two, {2}), (Parts{{{0, 1}, {1, 1}}}));
  const Devices mixed = {{8, 1}, {1, 1}, {1, 1}};
  EXPECT_EQ(parts(mixed, {1, 9}), (Parts{{{1, 1}}, {{0, 8}, {2, 1}}}));
  EXPECT_EQ(parts(mixed, {2, 8}), (Parts{{{1, 1}, {2, 1}}, {{0, 8}}}));
  EXPECT_EQ(code_of(divide(mixed, Units{5, 5}).map([](const auto&) {})),
            CL_DEVICE_PARTITION_FAILED);
}

TEST(Partition, PiecesWhereTheVendorCanCut) {
  const Devices one = {{4, 4}};
  EXPECT_EQ(parts(one, {1, 2}), (Parts{{{0, 1}}, {{0, 2}}}));
  EXPECT_EQ(parts(one, {1, 3}), (Parts{{{0, 1}}, {{0, 3}}}));
  // A whole device is preferred to a piece, and what is left of a cut one is a piece too.
  const Devices two = {{4, 4}, {2, 1}};
  EXPECT_EQ(parts(two, {2, 4}), (Parts{{{1, 2}}, {{0, 4}}}));
  EXPECT_EQ(parts(two, {1, 5}), (Parts{{{0, 1}}, {{0, 3}, {1, 2}}}));
  // The vendor's limit on pieces holds.
  const Devices few = {{4, 2}};
  EXPECT_EQ(parts(few, {1, 3}).size(), 2u);
  EXPECT_TRUE(parts(few, {1, 1, 1}).empty());
}

TEST(Partition, EqualPartsOfUnequalDevices) {
  EXPECT_TRUE(divides_equally(Devices{{2, 1}, {2, 1}}));
  EXPECT_TRUE(divides_equally(Devices{{2, 1}, {1, 1}, {1, 1}}));
  EXPECT_FALSE(divides_equally(Devices{{8, 1}, {1, 1}}));
  EXPECT_FALSE(divides_equally(Devices{{1, 1}}));
  EXPECT_TRUE(divides_equally(Devices{{2, 2}}));
}

TEST(Partition, HowManyPartsThereCanBe) {
  EXPECT_EQ(most_parts(Devices{{8, 1}}), 1u);
  EXPECT_EQ(most_parts(Devices{{8, 8}, {3, 1}}), 9u);
  EXPECT_EQ(most_parts(Devices{{1, 0}, {1, 64}}), 2u);
}

// Random devices and requests: what is given out adds up, meets nowhere, and cuts nothing that
// cannot be cut.
TEST(Partition, NothingIsGivenTwice) {
  std::mt19937 random(20);
  for (int trial = 0; trial < 5000; ++trial) {
    Devices devices(1 + random() % 6);
    uint32_t total = 0;
    for (Dividend& device : devices) {
      device = {1 + static_cast<uint32_t>(random() % 8), static_cast<uint32_t>(random() % 5)};
      total += device.units;
    }
    Units units;
    for (uint32_t left = total; left > 0 && units.size() < 6;) {
      units.push_back(1 + static_cast<uint32_t>(random() % left));
      left -= units.back();
    }
    const auto result = divide(devices, units);
    if (!result) continue;
    ASSERT_EQ(result->size(), units.size());
    Units used(devices.size(), 0), pieces(devices.size(), 0);
    for (size_t i = 0; i < units.size(); ++i) {
      uint32_t sum = 0;
      for (const Share& share : (*result)[i]) {
        sum += share.units;
        used[share.index] += share.units;
        if (share.units < devices[share.index].units) ++pieces[share.index];
      }
      EXPECT_EQ(sum, units[i]);
    }
    for (size_t d = 0; d < devices.size(); ++d) {
      EXPECT_LE(used[d], devices[d].units);
      EXPECT_LE(pieces[d], devices[d].max_pieces);
    }
  }
}

cl_int code_for(const Devices& devices, std::vector<cl_device_partition_property> properties) {
  auto request = read_partition(properties.data(), devices);
  return request ? CL_SUCCESS : request.error().code;
}

TEST(Partition, Requests) {
  const Devices one = {{4, 4}};
  const auto request = read_partition(
      std::vector<cl_device_partition_property>{CL_DEVICE_PARTITION_EQUALLY, 3, 0}.data(), one);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->units, Units{3});
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_EQUALLY, 0, 0}), CL_INVALID_VALUE);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_EQUALLY, -2, 0}), CL_INVALID_VALUE);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_EQUALLY, 4, 0}), CL_DEVICE_PARTITION_FAILED);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_EQUALLY, 5, 0}), CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_EQUALLY, 2, 7, 0}), CL_INVALID_VALUE);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_BY_COUNTS, 3, 1, 0, 0}), CL_SUCCESS);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_BY_COUNTS, 0, 0}),
            CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_BY_COUNTS, 3, 2, 0, 0}),
            CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_BY_COUNTS, -1, 0, 0}),
            CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT_EQ(code_for({{4, 2}}, {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 1, 0, 0}),
            CL_INVALID_DEVICE_PARTITION_COUNT);
  EXPECT_EQ(code_for(one, {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 1, 0}), CL_INVALID_VALUE);
  EXPECT_EQ(code_for({{4, 1}}, {CL_DEVICE_PARTITION_EQUALLY, 2, 0}), CL_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::device_virtual
