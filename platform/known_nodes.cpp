// SPDX-License-Identifier: Apache-2.0
#include "platform/known_nodes.h"

#include <cmath>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/kept_file.h"
#include "base/log.h"

namespace tutti::platform {
namespace {

using backends::process::Reader;
using backends::process::Writer;

// The version of what is kept: another driver's traits would be read as other values.
constexpr std::string_view kNodeFormat = "tutti-node 1";

std::string file_of(const std::string& cache_folder, const std::string& node) {
  const std::filesystem::path folder = std::filesystem::path(cache_folder) / "nodes";
  return folder / kept_name(node);
}

bool is_rate(double value) { return std::isfinite(value) && value > 0; }

/// What is planned with while the device is away. All else is compared when it is back.
bool makes_sense(const backends::DeviceTraits& traits) {
  const backends::DeviceLink& link = traits.link;
  return !traits.device_name.empty() && !traits.node.empty() &&
         traits.device_name.ends_with(traits.node) && traits.compute_units > 0 &&
         traits.global_memory > 0 && traits.max_allocation > 0 && traits.memory_alignment > 0 &&
         is_rate(traits.nominal_gflops) && is_rate(link.round_trip) && is_rate(link.to_device) &&
         is_rate(link.from_device);
}

}  // namespace

void remember_node(const std::string& cache_folder, const std::string& node,
                   const KnownNode& known) {
  if (cache_folder.empty()) return;
  Writer text;
  text.text(kNodeFormat).text(node).text(known.library);
  text.put(known.device.platform).put(known.device.device);
  put(text, known.device.traits);
  const std::string_view bytes(reinterpret_cast<const char*>(text.bytes().data()),
                               text.bytes().size());
  if (const Status kept = keep_file(file_of(cache_folder, node), bytes); !kept) {
    log(LogLevel::kDebug, "node {} is not remembered: {}", node, kept.error().message);
  }
}

std::optional<KnownNode> recall_node(const std::string& cache_folder, const std::string& node) {
  if (cache_folder.empty()) return {};
  const auto kept = read_kept(file_of(cache_folder, node));
  if (!kept) return {};
  Reader from(std::as_bytes(std::span(*kept)));
  if (from.text() != kNodeFormat || from.text() != node) return {};
  KnownNode known;
  from.into(known.library);
  from.into(known.device.platform);
  from.into(known.device.device);
  known.device.traits = backends::process::get_traits(from);
  if (!from.whole() || !makes_sense(known.device.traits)) return {};
  return known;
}

}  // namespace tutti::platform
