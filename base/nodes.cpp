// SPDX-License-Identifier: Apache-2.0
#include "base/nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace tutti {
namespace {

constexpr std::string_view kBlanks = " \t\n";

/// The next word of `rest`, which loses it; empty at the end.
std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return !text.empty() && error == std::errc() && rest == end;
}

/// More than nothing, `most` at most.
bool read_hint(std::string_view text, double most, double& hint) {
  return read_number(text, hint) && hint > 0 && hint <= most;
}

/// A name that ssh and other programs take for nothing else: not for an option, for example.
bool is_host(std::string_view text) {
  const auto known = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || c == '@' || c == ':' || c == '%';
  };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), known);
}

bool read_address(std::string_view text, Node& node) {
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (!read_number(text.substr(slash + 1), node.device)) return false;
    text = text.substr(0, slash);
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  // The server has the port behind it, too.
  if (!read_number(text.substr(colon + 1), node.port)) return false;
  if (node.port == 0 || node.port == UINT16_MAX) return false;
  text = text.substr(0, colon);
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
  } else if (text.find(':') != std::string_view::npos) {
    return false;
  }
  node.host = text;
  return is_host(text);
}

bool read_attribute(std::string_view word, Node& node) {
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  if (equals == std::string_view::npos) {
    node.insecure |= key == "insecure";
    if (key == "required" || key == "optional") node.required = key == "required";
    return key == "insecure" || key == "required" || key == "optional";
  }
  const std::string_view value = word.substr(equals + 1);
  if (key == "name") {
    node.name = value;
    return !value.empty();
  }
  if (key == "tunnel") {
    node.tunnel = value;
    return value == "ssh" || (value.size() > 1 && value.starts_with('/'));
  }
  if (key == "rtt") return read_hint(value, 60'000, node.rtt_ms);
  if (key == "rate") return read_hint(value, 10'000'000, node.rate_mbit);
  return key == "wait" && read_number(value, node.wait_seconds) && node.wait_seconds >= 1 &&
         node.wait_seconds <= 600;
}

}  // namespace

std::string Node::address() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}/{}", host, port, device)
                                             : fmt::format("[{}]:{}/{}", host, port, device);
}

std::string Node::label() const {
  return name.empty() ? address() : fmt::format("{} ({})", name, address());
}

std::string Node::refusal() const {
  if (insecure || !tunnel.empty()) return {};
  return "neither a tunnel nor 'insecure' is written beside it, and its server knows no "
         "authentication and no encryption";
}

std::optional<std::vector<Node>> parse_nodes(std::string_view text) {
  std::vector<Node> nodes;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view rest = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::string_view address = take_word(rest);
    if (address.empty()) continue;
    Node node;
    if (!read_address(address, node)) return std::nullopt;
    for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
      if (!read_attribute(word, node)) return std::nullopt;
    }
    for (const Node& other : nodes) {
      const bool same_name = !node.name.empty() && other.name == node.name;
      if (same_name || other.address() == node.address()) return std::nullopt;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string text_of(const Node& node) {
  std::string text = node.address();
  if (!node.name.empty()) text += " name=" + node.name;
  if (!node.tunnel.empty()) text += " tunnel=" + node.tunnel;
  text += fmt::format(" wait={}", node.wait_seconds);
  if (node.rtt_ms > 0) text += fmt::format(" rtt={}", node.rtt_ms);
  if (node.rate_mbit > 0) text += fmt::format(" rate={}", node.rate_mbit);
  if (node.insecure) text += " insecure";
  if (node.required) text += " required";
  return text;
}

}  // namespace tutti
