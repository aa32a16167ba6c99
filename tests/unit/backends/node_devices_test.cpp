// SPDX-License-Identifier: Apache-2.0
// Nodes that cannot be used, each with its reason: over the stub vendor driver, which has no remote
// client.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cmath>
#include <functional>
#include <random>

#include "backends/opencl/quirks.h"
#include "base/clock.h"
#include "base/kept_file.h"
#include "base/own_files.h"
#include "platform/composition_devices.h"
#include "platform/known_nodes.h"
#include "stub_fixture.h"
#include "temporary_folder.h"

namespace tutti::platform {
namespace {

using ::testing::HasSubstr;

// What the helper of a node may take that answers within a second, as may its calls.
constexpr uint64_t kHangNs = 2'000'000'000;

class NodeDevicesTest : public backends::StubTest {
 protected:
  VendorLoader with_node(const std::string& node, const std::string& cache_folder = {}) {
    setenv("TUTTI_TEST_STUB", "devices:1", 1);
    DiscoveryOptions options;
    options.vendors = library_.string();
    options.device_program = find_own_program(kDeviceProgram);
    options.nodes = parse_nodes(node).value_or(std::vector<Node>());
    options.node_driver = library_.string();
    options.cache_folder = cache_folder;
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

KnownNode known_at(const std::string& label) {
  KnownNode known{"/opt/libpocl.so", {1, 2, {}, {}}};
  known.device.traits.device_name = "pthread at " + label;
  known.device.traits.node = label;
  known.device.traits.global_memory = known.device.traits.max_allocation = 1 << 20;
  known.device.traits.link = {0.02, 12.5e6, 12.5e6};
  known.device.traits.features = {"cl_khr_fp64"};
  return known;
}

TEST_F(NodeDevicesTest, OffAndKnownOfAnEarlierProcess) {
  const std::string cache = folder_ / "cache";
  remember_node(cache, "far (127.0.0.1:9/0)", known_at("far (127.0.0.1:9/0)"));
  const VendorLoader loader = with_node("127.0.0.1:9 insecure name=far", cache);
  ASSERT_EQ(loader.drivers().size(), 2u);
  EXPECT_FALSE(loader.drivers()[1].ok);
  ASSERT_EQ(loader.devices().size(), 2u);
  const FoundDevice& found = loader.devices()[1];
  EXPECT_THAT(found.away, HasSubstr("cannot reach 127.0.0.1:9"));
  EXPECT_TRUE(found.reason.empty());
  EXPECT_EQ(found.traits.device_name, "pthread at far (127.0.0.1:9/0)");
  EXPECT_EQ(found.traits.link.to_device, 12.5e6);
  EXPECT_EQ(found.subject("p").library, "/opt/libpocl.so");
  EXPECT_THAT(found.subject("p").node, HasSubstr("name=far"));
  // Another one is not known, and a node that may not be reached is not waited for.
  EXPECT_EQ(with_node("127.0.0.1:9 insecure name=other", cache).devices().size(), 1u);
  EXPECT_EQ(with_node("127.0.0.1:9 name=far", cache).devices().size(), 1u);
}

TEST(KnownNodes, WhatMakesNoSenseIsNotKnown) {
  const TemporaryFolder folder;
  const std::string label = "10.0.0.7:7000/0";
  const auto recalled = [&](const std::function<void(KnownNode&)>& change) {
    KnownNode known = known_at(label);
    change(known);
    remember_node(folder.path(), label, known);
    return recall_node(folder.path(), label);
  };
  const auto same = recalled([](KnownNode&) {});
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->device.device, 2u);
  EXPECT_TRUE(backends::process::same_device(same->device.traits, known_at(label).device.traits));
  EXPECT_FALSE(recall_node(folder.path(), "10.0.0.7:7000/1"));
  EXPECT_FALSE(recall_node({}, label));
  using Change = std::function<void(KnownNode&)>;
  for (const Change& change : std::initializer_list<Change>{
           [](KnownNode& known) { known.device.traits.device_name = "another"; },
           [](KnownNode& known) { known.device.traits.node.clear(); },
           [](KnownNode& known) { known.device.traits.memory_alignment = 0; },
           [](KnownNode& known) { known.device.traits.global_memory = 0; },
           [](KnownNode& known) { known.device.traits.link.to_device = std::nan(""); },
           [](KnownNode& known) { known.device.traits.link.round_trip = -1; }}) {
    EXPECT_FALSE(recalled(change).has_value());
  }
  // Nor is half of it, or something else altogether.
  static_cast<void>(recalled([](KnownNode&) {}));
  const std::string path = folder.path() + "/nodes/" + kept_name(label);
  const std::string whole = *read_kept(path);
  for (size_t size = 0; size < whole.size(); size += 7) {
    ASSERT_TRUE(keep_file(path, whole.substr(0, size)));
    EXPECT_FALSE(recall_node(folder.path(), label)) << size;
  }
  std::minstd_rand random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (int changes = 0; changes < 3; ++changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    ASSERT_TRUE(keep_file(path, damaged));
    static_cast<void>(recall_node(folder.path(), label));  // does no harm
  }
}

TEST_F(NodeDevicesTest, ADriverWithoutARemoteClient) {
  // Its local device must not be taken for the node's.
  const VendorLoader loader = with_node("far.example:4000 tunnel=/bin/cat");
  ASSERT_EQ(loader.drivers().size(), 2u);
  EXPECT_FALSE(loader.drivers()[1].ok);
  EXPECT_EQ(loader.devices().size(), 1u);
}

TEST_F(NodeDevicesTest, DriversThatHangDoSoAtOnce) {
  setenv("TUTTI_TEST_STUB", "hang:clGetDeviceIDs", 1);
  DiscoveryOptions options;
  options.vendors = folder_ / "none.so";
  options.device_program = find_own_program(kDeviceProgram);
  std::string nodes;
  for (int i = 0; i < 10; ++i) {
    nodes += (i == 0 ? "" : ",") + std::to_string(i) + ".example:4000 tunnel=/bin/cat wait=1";
  }
  options.nodes = parse_nodes(nodes).value_or(std::vector<Node>());
  options.node_driver = library_.string();
  options.node_deadline = 1;
  const uint64_t begin_ns = now_ns();
  const VendorLoader loader(options);
  EXPECT_LT(now_ns() - begin_ns, 10 * kHangNs);
  ASSERT_EQ(loader.drivers().size(), 11u);
  for (size_t i = 1; i < 11; ++i) {
    EXPECT_THAT(loader.drivers()[i].reason, HasSubstr("has not ended after 2 seconds"));
  }
}

TEST_F(NodeDevicesTest, ADriverThatHangsLaterCostsNoMoreThanTheDeadline) {
  const std::string cache = folder_ / "cache";
  KnownNode known = known_at("far.example:4000/0");
  known.library = library_;
  remember_node(cache, "far.example:4000/0", known);
  setenv("TUTTI_TEST_STUB", "devices:1", 1);
  Config config;
  config.vendors.value = library_.string();
  config.node_driver.value = library_.string();
  config.nodes.value = "far.example:4000 tunnel=/bin/cat wait=1";
  config.cache.value = cache;
  config.deadline.value = 1;
  const auto backends = create_backends(config, nullptr);
  ASSERT_EQ(backends.size(), 2u);
  setenv("TUTTI_TEST_STUB", "hang:clGetDeviceIDs", 1);
  const FoundDevice& found = vendor_loader(config).devices()[1];
  EXPECT_EQ(found.start_seconds, 2u);
  EXPECT_EQ(found.trial_seconds, 1u);
  const Status renewed = backends[1]->renew();
  ASSERT_FALSE(renewed);
  EXPECT_THAT(renewed.error().message, HasSubstr("has not ended after 2 seconds"));
}

// Those of nodes, or with TUTTI_ISOLATE.
TEST_F(NodeDevicesTest, DevicesInProcessesOfTheirOwnAreTriedAtTheSameTime) {
  ASSERT_EQ(mkfifo((folder_ / "gate").c_str(), 0600), 0);
  setenv("TUTTI_TEST_STUB", ("devices:2 meet:clCreateContext:" + folder_.string()).c_str(), 1);
  Config config;
  config.vendors.value = library_.string();
  config.isolate.value = "all";
  config.cache.value = folder_ / "cache";
  std::vector<DeviceReport> report;
  const auto backends = create_backends(config, &report);
  ASSERT_EQ(backends.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(report[i].used) << report[i].reason;
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
