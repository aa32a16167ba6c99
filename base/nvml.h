// SPDX-License-Identifier: Apache-2.0
// The energy of NVIDIA's GPUs, from the driver's management library (NVML), which is loaded at run
// time: nothing of it is needed to build or to run on other machines.
#pragma once

#include <memory>
#include <string>

#include "base/rapl.h"

namespace tutti {

class NvmlLibrary {
 public:
  /// Loads and initialises the library, which then stays; null with the reason in `absent`.
  static std::unique_ptr<NvmlLibrary> open(const std::string& library, std::string& absent);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// The GPU at a PCI address ("0000:3b:00.0"). It counts energy where it can (Volta and later);
  /// else its power is integrated over time from reading to reading. Memory and board are included.
  /// The sensor may outlive this object.
  FoundSensor sensor(const std::string& pci_address) const;

 private:
  struct Functions;
  explicit NvmlLibrary(std::shared_ptr<const Functions> functions);
  friend class NvmlSensor;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace tutti
