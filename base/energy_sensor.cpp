// SPDX-License-Identifier: Apache-2.0
#include "base/energy_sensor.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tutti {

EnergySources energy_sources(std::string_view text) {
  if (text.empty()) return {};
  EnergySources sources{{}, {}};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    const std::string item(text.substr(begin, end - begin));
    begin = end + 1;
    if (item.empty()) continue;
    std::error_code error;
    const bool library =
        item.find(".so") != std::string::npos && !std::filesystem::is_directory(item, error);
    (library ? sources.nvml : sources.powercap) = item;
  }
  return sources;
}

}  // namespace tutti
