// SPDX-License-Identifier: Apache-2.0
// Devices of other hosts as TUTTI_NODES names them: the language of that option. Pure functions.
//
//   nodes     := node { "," node }
//   node      := ADDRESS { BLANK attribute }
//   ADDRESS   := HOST ":" PORT [ "/" DEVICE ]   HOST is a name, an IPv4 address, or "[" IPv6 "]";
//                                               DEVICE is the server's number of it, 0 if not given
//   attribute := "tunnel=ssh"        OpenSSH carries the connection: ssh -W to PORT of HOST's own
//              | "tunnel=/PROGRAM"   a program that is called with HOST and PORT does, from its
//                                    standard input and to its standard output
//              | "insecure"          it goes over the network as it is
//              | "name=TEXT"         what the node is called
//              | "wait=SECONDS"      how long its server may take to answer, 1 to 600; else 5
//              | "rtt=MS"            what the way there and back takes, in milliseconds …
//              | "rate=MBIT"         … and how fast content passes either way, in megabits per
//                                    second: what is not given is measured
//              | "required"          nothing is offered without it
//              | "optional"          the opposite, which is the default
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

struct Node {
  std::string host;  // of IPv6 without brackets
  uint16_t port = 0;
  uint32_t device = 0;
  std::string name;    // empty: none
  std::string tunnel;  // "ssh" or a program; empty: none
  uint32_t wait_seconds = 5;
  double rtt_ms = 0, rate_mbit = 0;  // 0: not given
  bool insecure = false;
  bool required = false;

  /// "host:port/device".
  std::string address() const;
  /// "name (address)", or the address.
  std::string label() const;
  /// Why nobody connects to it; empty: it may be.
  std::string refusal() const;
  bool operator==(const Node&) const = default;
};

/// Nothing where it is not in that language, or names a node or a name twice.
std::optional<std::vector<Node>> parse_nodes(std::string_view text);

/// As parse_nodes() would read it.
std::string text_of(const Node& node);

}  // namespace tutti
