// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vendor_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tutti::backends {
namespace {

TEST(VendorBuilder, BuildsThatOthersFindAreMadeOneAtATime) {
  VendorDevice device;
  device.quirks.serial_builds = true;
  DeviceTraits traits;
  std::atomic<int> building{0}, others{0};
  std::atomic<int> most{0};
  const auto build = [&](const VendorBuilder& builder, const char* source, std::atomic<int>& now) {
    for (int i = 0; i < 300; ++i) {
      const VendorBuilder::Turn turn = builder.turn(source, "");
      const int count = ++now;
      if (count > most) most = count;
      std::this_thread::yield();
      --now;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { build(VendorBuilder(device, traits), "a", building); });
  }
  threads.emplace_back([&] { build(VendorBuilder(device, traits), "b", others); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(VendorBuilder, BuildsOfTheDevicesOwnWaitForNobody) {
  VendorDevice device;
  device.quirks.serial_builds = device.quirks.distinct_builds = true;
  const DeviceTraits traits;
  const VendorBuilder builder(device, traits);
  const VendorBuilder::Turn one = builder.turn("a", ""), other = builder.turn("a", "");
}

TEST(VendorBuilder, OtherTextsWaitForNobody) {
  VendorDevice device;
  device.quirks.serial_builds = true;
  const DeviceTraits traits;
  const VendorBuilder builder(device, traits);
  const VendorBuilder::Turn one = builder.turn("a", ""), two = builder.turn("b", ""),
                            three = builder.turn("a", "-DX");
}

}  // namespace
}  // namespace tutti::backends
