// SPDX-License-Identifier: Apache-2.0
#include "base/pci_link.h"

#include <charconv>

#include "base/safe_file.h"

namespace tutti {

std::optional<PciLink> pci_link(const std::string& address, const std::string& folder) {
  if (address.empty() || address.find('/') != std::string::npos) return std::nullopt;
  const auto first_line = [&](const char* name) {
    return first_line_of(folder + "/" + address + "/" + name);
  };
  PciLink link{first_line("current_link_speed"), 0};
  const std::string lanes = first_line("current_link_width");
  std::from_chars(lanes.data(), lanes.data() + lanes.size(), link.lanes);
  // The kernel writes "Unknown", and 0 or 255 lanes, where there is no link.
  const bool speed = !link.speed.empty() && link.speed[0] >= '0' && link.speed[0] <= '9';
  if (!speed || link.lanes == 0 || link.lanes > 32) return std::nullopt;
  return link;
}

}  // namespace tutti
