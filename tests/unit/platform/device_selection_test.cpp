// SPDX-License-Identifier: Apache-2.0
#include "platform/device_selection.h"

#include <gmock/gmock.h>

#include <array>

#include "platform/create_backends.h"

namespace tutti::platform {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<SelectableDevice> kDevices{
    {"Portable Computing Language", "basic-Xeon"},
    {"Portable Computing Language", "pthread-Xeon"},
    {"rusticl", "llvmpipe (LLVM 15)"},
    {"NVIDIA CUDA", "NVIDIA H100 80GB"},
    {"NVIDIA CUDA", "Broken GPU", false},
};

Selection select(std::string_view text) { return select_devices(text, kDevices); }

TEST(DeviceSelection, AllUsableDevicesByDefault) {
  EXPECT_THAT(select("").devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(select(" , ").devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(select("").warnings, IsEmpty());
}

TEST(DeviceSelection, IndicesKeepTheOrderOfTheItems) {
  EXPECT_THAT(select("3,0").devices, ElementsAre(3, 0));
  EXPECT_THAT(select("0,3,0").devices, ElementsAre(0, 3));
}

TEST(DeviceSelection, NamesMatchPartsOfDeviceAndPlatformCaseAside) {
  EXPECT_THAT(select("LLVMPIPE").devices, ElementsAre(2));
  EXPECT_THAT(select("portable").devices, ElementsAre(0, 1));
  EXPECT_THAT(select("nvidia, basic").devices, ElementsAre(3, 0));
}

TEST(DeviceSelection, ANumberIsAnIndexEvenWhereANameHasIt) {
  EXPECT_THAT(select("80").devices, ElementsAre(0, 1, 2, 3));  // no device 80: the default
  EXPECT_THAT(select("80").warnings.at(0), HasSubstr("80 matches no device"));
  EXPECT_THAT(select("80GB").devices, ElementsAre(3));
}

TEST(DeviceSelection, PlatformAndDevice) {
  EXPECT_THAT(select("portable/xeon").devices, ElementsAre(0, 1));
  EXPECT_THAT(select("portable / pthread").devices, ElementsAre(1));
  EXPECT_THAT(select("rusticl/xeon").warnings.size(), 2u);  // nothing matched, nothing left
}

TEST(DeviceSelection, Exclusions) {
  EXPECT_THAT(select("-llvmpipe").devices, ElementsAre(0, 1, 3));
  EXPECT_THAT(select("-0,-2").devices, ElementsAre(1, 3));
  EXPECT_THAT(select("-0,portable").devices, ElementsAre(1));
  EXPECT_THAT(select("portable,-0").devices, ElementsAre(1));
}

TEST(DeviceSelection, AnUnknownNameNamesWhatThereIs) {
  const Selection selection = select("voodoo,0");
  EXPECT_THAT(selection.devices, ElementsAre(0));
  ASSERT_EQ(selection.warnings.size(), 1u);
  EXPECT_THAT(selection.warnings[0], HasSubstr("voodoo"));
  EXPECT_THAT(selection.warnings[0], HasSubstr("rusticl / llvmpipe"));
}

TEST(DeviceSelection, NothingLeftMeansAllWithAWarning) {
  const Selection selection = select("0,-0");
  EXPECT_THAT(selection.devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(selection.warnings, ElementsAre(HasSubstr("leaves no device")));
}

TEST(DeviceSelection, UnusableDevicesAreNeverTaken) {
  EXPECT_THAT(select("broken,1").devices, ElementsAre(1));
  EXPECT_THAT(select("broken,1").warnings, ElementsAre(HasSubstr("cannot be used")));
  EXPECT_THAT(select("nvidia").devices, ElementsAre(3));
}

TEST(DeviceSelection, NumbersTooLargeAreNoCrash) {
  EXPECT_THAT(select("99999999999999999999999").devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(select("-").devices, ElementsAre(0, 1, 2, 3));
}

TEST(DeviceSelection, NoDevicesAtAll) {
  EXPECT_THAT(select_devices("", {}).devices, IsEmpty());
  EXPECT_THAT(select_devices("0", {}).devices, IsEmpty());
}

TEST(Isolation, NamesDevicesAsTheirSelectionDoes) {
  const SelectableDevice gpu{"NVIDIA CUDA", "NVIDIA H100"}, cpu{"Portable Computing", "a cpu"};
  for (const char* none : {"none", "", "nodes", "intel", "1"}) {
    EXPECT_FALSE(isolates(none, 0, gpu)) << none;
  }
  for (const char* named : {"all", "0", "nvidia", "intel, h100", "cuda/h100", "nodes,0"}) {
    EXPECT_TRUE(isolates(named, 0, gpu)) << named;
  }
  EXPECT_FALSE(isolates("nvidia", 1, cpu));
  EXPECT_TRUE(isolation_problems("none", {gpu, cpu}).empty());
  EXPECT_TRUE(isolation_problems("all,nodes,portable", {gpu, cpu}).empty());
  const auto problems = isolation_problems("intel,0", {gpu, cpu});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("TUTTI_ISOLATE: intel matches no device"), std::string::npos);
}

TEST(DeviceReport, EqualDevicesAreToldApart) {
  const auto labels = [](std::vector<std::array<std::string, 3>> list) {
    std::vector<DeviceReport> devices;
    for (const auto& [platform, name, address] : list) {
      DeviceReport device;
      device.platform = platform;
      device.name = name;
      device.pci_address = address;
      devices.push_back(device);
    }
    tell_apart(devices);
    std::vector<std::string> made;
    for (const DeviceReport& device : devices) made.push_back(device.label());
    return made;
  };
  EXPECT_THAT(labels({{"A", "gpu", "0000:01:00.0"}, {"B", "gpu", "0000:02:00.0"}}),
              ElementsAre("gpu", "gpu"));  // the platforms tell
  EXPECT_THAT(labels({{"A", "gpu", "0000:01:00.0"}, {"A", "gpu", "0000:02:00.0"}}),
              ElementsAre("gpu 0000:01:00.0", "gpu 0000:02:00.0"));
  EXPECT_THAT(labels({{"A", "cpu", ""}, {"A", "gpu", ""}, {"A", "cpu", ""}}),
              ElementsAre("cpu #1", "gpu", "cpu #2"));
  // Parts of one card have one address.
  EXPECT_THAT(labels({{"A", "gpu", "0000:01:00.0"}, {"A", "gpu", "0000:01:00.0"}}),
              ElementsAre("gpu #1", "gpu #2"));
}

}  // namespace
}  // namespace tutti::platform
