// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/quirks.h"

#include <gtest/gtest.h>

#include "backends/opencl/vendor_functions.h"

namespace tutti::backends {
namespace {

DeviceTraits device(const char* platform, const char* name, cl_device_type type, uint32_t units,
                    const char* vendor = "") {
  DeviceTraits traits;
  traits.platform_name = platform;
  traits.device_name = name;
  traits.vendor = vendor;
  traits.type = type;
  traits.compute_units = units;
  traits.clock_mhz = 1500;
  return traits;
}

TEST(Quirks, PoclBuildsAreDistinctPerDevice) {
  const auto pocl = device("Portable Computing Language", "basic-x", CL_DEVICE_TYPE_CPU, 1);
  EXPECT_TRUE(quirks_of(pocl).distinct_builds);
  EXPECT_TRUE(quirks_of(pocl).serial_builds);
  const std::string first = vendor_build_options(pocl, quirks_of(pocl), "-DA=1", 0);
  EXPECT_EQ(first, "-DA=1 -D TUTTI_DEVICE_0");
  EXPECT_NE(first, vendor_build_options(pocl, quirks_of(pocl), "-DA=1", 1));
}

TEST(Quirks, LanguageHasANameThatTheDeviceKnows) {
  auto gpu = device("NVIDIA CUDA", "a GPU", CL_DEVICE_TYPE_GPU, 1);
  const auto options = [&gpu](const char* given) {
    return vendor_build_options(gpu, quirks_of(gpu), given, 0);
  };
  EXPECT_EQ(options("-w -cl-std=CL3.1 -cl-mad-enable"), "-w -cl-std=CL3.0 -cl-mad-enable");
  EXPECT_EQ(options("-cl-std=CL2.0"), "-cl-std=CL2.0");
  gpu.features.emplace_back(kOpenClC31);
  EXPECT_EQ(options("-w -cl-std=CL3.1"), "-w -cl-std=CL3.1");
}

TEST(Quirks, NewerPoclsDevicesShareTheirBuilds) {
  auto pocl = device("Portable Computing Language", "cpu-minimal-x", CL_DEVICE_TYPE_CPU, 1);
  for (const char* version : {"6.0+debian", "7.1", "8.0-pre main-0-g5066640"}) {
    pocl.driver_version = version;
    EXPECT_TRUE(quirks_of(pocl).serial_builds) << version;
    EXPECT_EQ(vendor_build_options(pocl, quirks_of(pocl), "-DA=1", 1), "-DA=1") << version;
    describe_quirks(quirks_of(pocl), pocl);
    EXPECT_FALSE(pocl.build_kind.empty()) << version;
  }
  pocl.driver_version = "5.0+debian";
  pocl.build_kind.clear();
  EXPECT_TRUE(quirks_of(pocl).distinct_builds);
  describe_quirks(quirks_of(pocl), pocl);
  EXPECT_EQ(pocl.build_kind, "");
}

TEST(Quirks, WhatATrialShowsCountsMoreThanNames) {
  for (const char* name : {"basic-x", "cpu-minimal-x", "cpu-x", "what will be"}) {
    const auto pocl = device("Portable Computing Language", name, CL_DEVICE_TYPE_CPU, 1);
    EXPECT_FALSE(quirks_of(pocl).synchronous) << name;
    EXPECT_FALSE(quirks_of(pocl, false).synchronous) << name;
    EXPECT_FALSE(quirks_of(pocl, false).one_at_a_time) << name;
    EXPECT_TRUE(quirks_of(pocl, true).synchronous) << name;
    EXPECT_TRUE(quirks_of(pocl, true).one_at_a_time) << name;
    // A trial that failed: the careful way.
    EXPECT_TRUE(quirks_of(pocl, std::nullopt).one_at_a_time) << name;
  }
  const auto other = device("Other", "x", CL_DEVICE_TYPE_CPU, 1);
  EXPECT_TRUE(quirks_of(other, true).one_at_a_time);
  EXPECT_FALSE(quirks_of(other, std::nullopt).one_at_a_time);
}

TEST(Quirks, DivisionsOfDevicesThatRunInTheEnqueuingThreadTrap) {
  auto pocl = device("Portable Computing Language", "x", CL_DEVICE_TYPE_CPU, 1);
  pocl.driver_version = "6.0+debian";
  EXPECT_TRUE(quirks_of(pocl, true).traps_divisions);
  EXPECT_FALSE(quirks_of(pocl, false).traps_divisions);
  pocl.driver_version = "3.1+debian";
  EXPECT_FALSE(quirks_of(pocl, true).traps_divisions);
}

// PoCL names the processor's maker as the vendor.
TEST(Quirks, HandlersOfCrashesComeWithIntelsRuntime) {
  auto traits = device("Intel(R) OpenCL", "x", CL_DEVICE_TYPE_CPU, 1);
  EXPECT_FALSE(quirks_of(traits).handles_crashes);
  traits.vendor = "Intel(R) Corporation";
  EXPECT_TRUE(quirks_of(traits).handles_crashes);
  traits.type = CL_DEVICE_TYPE_GPU;
  EXPECT_FALSE(quirks_of(traits).handles_crashes);
  auto pocl = device("Portable Computing Language", "x", CL_DEVICE_TYPE_CPU, 1);
  pocl.vendor = "GenuineIntel";
  EXPECT_FALSE(quirks_of(pocl).handles_crashes);
}

TEST(Quirks, SynchronousDevicesDoNotOverlapLaunches) {
  auto traits = device("Portable Computing Language", "x", CL_DEVICE_TYPE_GPU, 1);
  describe_quirks(quirks_of(traits, false), traits);
  EXPECT_TRUE(traits.overlaps_launches);
  describe_quirks(quirks_of(traits, true), traits);
  EXPECT_TRUE(traits.synchronous);
  EXPECT_FALSE(traits.overlaps_launches);
}

TEST(Quirks, VersionsOfDrivers) {
  EXPECT_EQ(driver_version_of("6.0+debian"), (DriverVersion{6, 0}));
  EXPECT_EQ(driver_version_of("25.0.7-2+deb13u1"), (DriverVersion{25, 0}));
  EXPECT_EQ(driver_version_of("8.0-pre main-0-g5066640dc"), (DriverVersion{8, 0}));
  EXPECT_EQ(driver_version_of("580"), (DriverVersion{580, 0}));
  EXPECT_EQ(driver_version_of("stub"), DriverVersion{});
  EXPECT_LT((DriverVersion{3, 1}), (DriverVersion{4, 0}));
  EXPECT_LT((DriverVersion{22, 3}), (DriverVersion{25, 0}));
}

TEST(Quirks, RusticlUnderstatedGroupSizes) {
  DeviceTraits rusticl;
  rusticl.platform_name = "rusticl";
  rusticl.driver_version = "22.3.6";
  EXPECT_TRUE(quirks_of(rusticl).understates_group_size);
  EXPECT_TRUE(quirks_of(rusticl).no_images_over_host_memory);
  rusticl.driver_version = "25.0.7-2+deb13u1";
  EXPECT_FALSE(quirks_of(rusticl).understates_group_size);
  rusticl.driver_version = "3.1";
  rusticl.platform_name = "Portable Computing Language";
  EXPECT_FALSE(quirks_of(rusticl).understates_group_size);
}

TEST(Quirks, NvidiasGroupSizesAreAdvice) {
  DeviceTraits traits;
  EXPECT_FALSE(quirks_of(traits).advises_group_size);
  traits.vendor = "NVIDIA Corporation";
  describe_quirks(quirks_of(traits), traits);
  EXPECT_TRUE(traits.advises_groups);
}

TEST(Quirks, WhoseAtomicsAreTheProcessors) {
  const auto host_atomics = [](const char* platform, const char* name, cl_device_type type) {
    return quirks_of(device(platform, name, type, 2)).host_atomics;
  };
  EXPECT_TRUE(host_atomics("Portable Computing Language", "basic", CL_DEVICE_TYPE_CPU));
  EXPECT_TRUE(host_atomics("rusticl", "llvmpipe", CL_DEVICE_TYPE_CPU));
  EXPECT_FALSE(host_atomics("rusticl", "radeonsi", CL_DEVICE_TYPE_GPU));
  EXPECT_FALSE(host_atomics("Oclgrind", "Oclgrind Simulator", CL_DEVICE_TYPE_CPU));
}

TEST(Quirks, LinkedUnitsAreAsTheVendorWantsThem) {
  const auto rusticl = quirks_of(device("rusticl", "llvmpipe", CL_DEVICE_TYPE_CPU, 8));
  EXPECT_EQ(vendor_unit(rusticl, "a", 1).substr(0, 2), "a\n");
  EXPECT_NE(vendor_unit(rusticl, "a", 1), vendor_unit(rusticl, "a", 2));
  const auto pocl =
      quirks_of(device("Portable Computing Language", "basic", CL_DEVICE_TYPE_CPU, 1));
  EXPECT_EQ(vendor_unit(pocl, "a", 1), "a");
  EXPECT_NE(distinct_unit(1), distinct_unit(2));
}

TEST(Quirks, OtherVendorsGetTheOptionsAsTheyAre) {
  auto gpu = device("NVIDIA CUDA", "H100", CL_DEVICE_TYPE_GPU, 132);
  gpu.vendor = "NVIDIA Corporation";
  EXPECT_EQ(vendor_build_options(gpu, quirks_of(gpu), "-DA=1", 0), "-DA=1");
  EXPECT_FALSE(quirks_of(gpu).synchronous);
  EXPECT_TRUE(quirks_of(gpu).equal_binaries);
}

TEST(Quirks, NominalSpeedsRankDevicesAsTheyAre) {
  const double gpu =
      nominal_gflops(device("NVIDIA CUDA", "H100", CL_DEVICE_TYPE_GPU, 132, "NVIDIA Corporation"));
  EXPECT_NEAR(gpu, 132 * 1.5 * 256, 1);  // 50 TFLOP/s
  const double core =
      nominal_gflops(device("Portable Computing Language", "basic", CL_DEVICE_TYPE_CPU, 1));
  const double grind = nominal_gflops(device("Oclgrind", "Simulator", CL_DEVICE_TYPE_CPU, 1));
  EXPECT_GT(gpu, 100 * core);
  EXPECT_GT(core, 100 * grind);
  EXPECT_GT(grind, 0);
  auto unknown = device("x", "y", CL_DEVICE_TYPE_CPU, 0);
  unknown.clock_mhz = 0;
  EXPECT_GT(nominal_gflops(unknown), 0);
}

TEST(VendorFunctions, VersionsAndTexts) {
  EXPECT_EQ(version_of("OpenCL 1.2 x"), 12u);
  EXPECT_EQ(version_of("OpenCL 3.0"), 30u);
  EXPECT_EQ(version_of("nonsense"), 10u);
  EXPECT_EQ(version_of(""), 10u);
  const char text[] = "  a name \0rest";
  const auto* bytes = reinterpret_cast<const std::byte*>(text);
  EXPECT_EQ(text_of({bytes, bytes + sizeof text}), "a name");
  EXPECT_EQ(text_of({}), "");
}

}  // namespace
}  // namespace tutti::backends
