// SPDX-License-Identifier: Apache-2.0
// What devices of other hosts were like in earlier processes, so that one whose server is off when
// a process starts can take part as soon as it answers. Files in the cache folder; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "backends/process/protocol.h"

namespace tutti::platform {

/// A node's device, and the driver that reached it.
struct KnownNode {
  std::string library;
  backends::process::ListedDevice device;
};

/// `node`: its label. Without a cache folder nothing is kept.
void remember_node(const std::string& cache_folder, const std::string& node,
                   const KnownNode& known);

/// Absent: the node is not known, or what is kept makes no sense.
std::optional<KnownNode> recall_node(const std::string& cache_folder, const std::string& node);

}  // namespace tutti::platform
