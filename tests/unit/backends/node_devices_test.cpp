// SPDX-License-Identifier: Apache-2.0
// Nodes that cannot be used, each with its reason: over the stub vendor driver, which has no remote
// client.
#include <gmock/gmock.h>

#include "backends/opencl/quirks.h"
#include "base/own_files.h"
#include "platform/composition_devices.h"
#include "stub_fixture.h"

namespace tutti::platform {
namespace {

using ::testing::HasSubstr;

class NodeDevicesTest : public backends::StubTest {
 protected:
  VendorLoader with_node(const std::string& node) {
    setenv("TUTTI_TEST_STUB", "devices:1", 1);
    DiscoveryOptions options;
    options.vendors = library_.string();
    options.device_program = find_own_program(kDeviceProgram);
    options.nodes = parse_nodes(node).value_or(std::vector<Node>());
    options.node_driver = library_.string();
    return VendorLoader(options);
  }
};

TEST_F(NodeDevicesTest, RefusedWithoutATunnel) {
  const VendorLoader loader = with_node("127.0.0.1:9");
  ASSERT_EQ(loader.drivers().size(), 2u);
  EXPECT_TRUE(loader.drivers()[0].ok);
  EXPECT_FALSE(loader.drivers()[1].ok);
  EXPECT_EQ(loader.drivers()[1].node, "127.0.0.1:9/0");
  EXPECT_THAT(loader.drivers()[1].reason, HasSubstr("refused: neither a tunnel"));
  EXPECT_EQ(loader.devices().size(), 1u);
}

TEST_F(NodeDevicesTest, Off) {
  const VendorLoader loader = with_node("127.0.0.1:9 insecure name=far required");
  ASSERT_EQ(loader.drivers().size(), 2u);
  EXPECT_THAT(loader.drivers()[1].reason, HasSubstr("cannot reach 127.0.0.1:9"));
  EXPECT_THAT(loader.drivers()[1].label(), HasSubstr("node far (127.0.0.1:9/0) ("));
  EXPECT_TRUE(loader.drivers()[1].required);
  EXPECT_EQ(loader.devices().size(), 1u);
}

TEST_F(NodeDevicesTest, ADriverWithoutARemoteClient) {
  // Its local device must not be taken for the node's.
  const VendorLoader loader = with_node("far.example:4000 tunnel=/bin/cat");
  ASSERT_EQ(loader.drivers().size(), 2u);
  EXPECT_FALSE(loader.drivers()[1].ok);
  EXPECT_EQ(loader.devices().size(), 1u);
}

TEST(RequiredNodes, OneThatIsRefusedWhenItIsTriedIsMissing) {
  FoundDriver driver;
  driver.ok = true;
  driver.node = "far (10.0.0.7:7000/0)";
  driver.required = true;
  DeviceReport here, there;
  here.used = true;
  there.node = driver.node;
  there.required = there.used = true;
  EXPECT_EQ(missing_node({driver}, {here, there}), "");
  there.used = false;
  EXPECT_EQ(missing_node({driver}, {here, there}), driver.node);
  there.required = false;  // TUTTI_DEVICES leaves it out
  EXPECT_EQ(missing_node({driver}, {here, there}), "");
  driver.ok = false;
  EXPECT_EQ(missing_node({driver}, {here}), driver.node);
}

TEST(NodeTraits, WhatHoldsForThisHostAlone) {
  backends::DeviceTraits traits;
  traits.platform_name = "Portable Computing Language";
  traits.driver_version = "3.1+debian";
  traits.compute_units = 1000;
  const backends::Quirks here = backends::quirks_of(traits, std::nullopt);
  const double nominal = backends::nominal_gflops(traits);
  traits.node = "left (10.0.0.7:7000/0)";
  const backends::Quirks there = backends::quirks_of(traits, std::nullopt);
  EXPECT_TRUE(here.synchronous && here.host_atomics && here.serial_builds);
  EXPECT_FALSE(there.synchronous || there.host_atomics || there.serial_builds);
  EXPECT_TRUE(there.ignores_host_pitch && there.no_sub_buffers && there.one_at_a_time);
  EXPECT_FALSE(here.ignores_host_pitch || here.no_sub_buffers);
  EXPECT_GT(backends::nominal_gflops(traits), nominal);
}

}  // namespace
}  // namespace tutti::platform
