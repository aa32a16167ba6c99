// SPDX-License-Identifier: Apache-2.0
// Small files that are kept for later runs: whoever reads one sees all of it or an older one, with
// any number of processes at once. Stateless, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti {

/// All of a file; nothing where it cannot be read.
std::optional<std::string> read_kept(const std::string& path);

/// Makes the file, and its folder, or replaces it. On error nothing has changed.
Status keep_file(const std::string& path, std::string_view content);

}  // namespace tutti
