// SPDX-License-Identifier: Apache-2.0
// The language of TUTTI_NODES.
#include "base/nodes.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/config.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Nodes, AddressesAndAttributes) {
  const auto nodes = parse_nodes(
      "gpu1:10998/2 tunnel=ssh, 10.0.0.7:7000 insecure required name=left wait=20,"
      " [fe80::1%eth0]:9000/1 tunnel=/usr/bin/carry optional rtt=20.5 rate=100,");
  ASSERT_TRUE(nodes.has_value());
  ASSERT_EQ(nodes->size(), 3u);
  const Node &first = (*nodes)[0], &second = (*nodes)[1], &third = (*nodes)[2];
  EXPECT_EQ(first.host, "gpu1");
  EXPECT_EQ(first.port, 10998);
  EXPECT_EQ(first.device, 2u);
  EXPECT_EQ(first.tunnel, "ssh");
  EXPECT_EQ(first.wait_seconds, 5u);
  EXPECT_FALSE(first.insecure || first.required);
  EXPECT_EQ(first.label(), "gpu1:10998/2");
  EXPECT_EQ(second.device, 0u);
  EXPECT_TRUE(second.insecure && second.required);
  EXPECT_EQ(second.wait_seconds, 20u);
  EXPECT_EQ(second.label(), "left (10.0.0.7:7000/0)");
  EXPECT_EQ(third.host, "fe80::1%eth0");
  EXPECT_EQ(third.address(), "[fe80::1%eth0]:9000/1");
  EXPECT_EQ(third.tunnel, "/usr/bin/carry");
  EXPECT_FALSE(third.required);
  EXPECT_EQ(first.rtt_ms, 0);
  EXPECT_EQ(first.rate_mbit, 0);
  EXPECT_EQ(third.rtt_ms, 20.5);
  EXPECT_EQ(third.rate_mbit, 100);
}

TEST(Nodes, TextsAreReadAsTheyWereMeant) {
  for (const char* text :
       {"a:1", "b:65534/7 name=x tunnel=ssh wait=600 required", "c:9 insecure rtt=0.125",
        "d:9 insecure rate=1e4 rtt=0.1", "[::1]:80/3 insecure", "user@host:22 tunnel=/bin/true"}) {
    const auto nodes = parse_nodes(text);
    ASSERT_TRUE(nodes && nodes->size() == 1) << text;
    const auto again = parse_nodes(text_of(nodes->front()));
    ASSERT_TRUE(again && again->size() == 1) << text;
    EXPECT_EQ(nodes->front(), again->front()) << text;
  }
  EXPECT_TRUE(parse_nodes("") && parse_nodes("")->empty());
}

TEST(Nodes, WhatIsNone) {
  for (const char* text : {"host",
                           "host:",
                           ":1",
                           "host:0",
                           "host:65535",
                           "host:70000",
                           "host:1/",
                           "host:1/x",
                           "fe80::1:9000",
                           "-oProxyCommand=x:1",
                           "ho st:1",
                           "host:1 secure",
                           "host:1 wait=0",
                           "host:1 wait=601",
                           "host:1 wait=",
                           "host:1 rtt=0",
                           "host:1 rtt=nan",
                           "host:1 rtt=60001",
                           "host:1 rate=-1",
                           "host:1 rate=inf",
                           "host:1 rate=10Mbit",
                           "host:1 name=",
                           "host:1 tunnel=",
                           "host:1 tunnel=telnet",
                           "host:1 tunnel=/",
                           "host:1;x",
                           "host:1, host:1/0",
                           "a:1 name=x, b:1 name=x"}) {
    EXPECT_FALSE(parse_nodes(text).has_value()) << text;
  }
}

TEST(Nodes, RefusedWithoutATunnel) {
  EXPECT_THAT(parse_nodes("a:1")->front().refusal(), HasSubstr("tunnel"));
  EXPECT_THAT(parse_nodes("a:1 insecure")->front().refusal(), IsEmpty());
  EXPECT_THAT(parse_nodes("a:1 tunnel=ssh")->front().refusal(), IsEmpty());
}

TEST(Nodes, InTheConfiguration) {
  const LoadedConfig good = load_config({{{"TUTTI_NODES", "a:1 insecure"}}, {}});
  EXPECT_THAT(good.warnings, IsEmpty());
  EXPECT_EQ(good.config.nodes.value, "a:1 insecure");
  const LoadedConfig bad = load_config({{{"TUTTI_NODES", "a insecure"}}, {}});
  EXPECT_THAT(bad.warnings, ElementsAre(HasSubstr("HOST:PORT/DEVICE")));
  EXPECT_EQ(bad.config.nodes.value, "");
}

TEST(Nodes, InAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/tutti.toml";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return load_config({{}, {path}});
  };
  const LoadedConfig tables = read(
      "nodes = [\"a:1 tunnel=ssh\", { address = \"b:2/1\", insecure = true, required = false,"
      " name = \"left\", wait = 7, rtt = 0.5, rate = 1000 }]\n");
  EXPECT_THAT(tables.warnings, IsEmpty());
  const auto nodes = parse_nodes(tables.config.nodes.value);
  ASSERT_TRUE(nodes && nodes->size() == 2);
  EXPECT_EQ((*nodes)[0].tunnel, "ssh");
  EXPECT_EQ((*nodes)[1].label(), "left (b:2/1)");
  EXPECT_TRUE((*nodes)[1].insecure);
  EXPECT_FALSE((*nodes)[1].required);
  EXPECT_EQ((*nodes)[1].wait_seconds, 7u);
  EXPECT_EQ((*nodes)[1].rtt_ms, 0.5);
  EXPECT_EQ((*nodes)[1].rate_mbit, 1000);
  EXPECT_THAT(read("[[nodes]]\naddress = \"c:3\"\ninsecure = true\n").config.nodes.value,
              HasSubstr("c:3 insecure"));
  EXPECT_THAT(read("nodes = [{ name = \"left\" }]\n").warnings,
              ElementsAre(HasSubstr("tables with an address")));
  EXPECT_THAT(read("nodes = [3]\n").warnings, ElementsAre(HasSubstr("tables with an address")));
  EXPECT_THAT(read("devices = [\"a\"]\n").warnings, ElementsAre(HasSubstr("must be a text")));
}

}  // namespace
}  // namespace tutti
