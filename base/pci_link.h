// SPDX-License-Identifier: Apache-2.0
// How a PCI device is connected, as the system tells it. Stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

struct PciLink {
  std::string speed;   // "16.0 GT/s PCIe"
  uint32_t lanes = 0;  // of the link as it is now
};

/// Of the device at an address ("0000:3b:00.0"); absent where the system does not say, as for what
/// is part of the processor or of a virtual machine. Devices that rest may show a slower link.
std::optional<PciLink> pci_link(const std::string& address,
                                const std::string& folder = "/sys/bus/pci/devices");

}  // namespace tutti
