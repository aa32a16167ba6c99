// SPDX-License-Identifier: Apache-2.0
// All vendor drivers of the machine and their devices, in a fixed order: that of the .icd files,
// then the vendors' own. A device's place in devices() is the index that `tutti devices` shows.
// Immutable once made; the vendors' libraries and function tables stay for the life of the process.
#pragma once

#include <string>
#include <vector>

#include "backends/opencl/opencl_objects.h"
#include "platform/discovery.h"

namespace tutti::platform {

struct FoundDriver {
  std::string icd;      // the .icd file; empty where the library itself was named
  std::string library;  // as named there
  bool ok = false;      // it has a device that we can use
  std::string reason;   // why not
};

struct FoundDevice {
  backends::VendorDevice device;
  backends::DeviceTraits traits;  // shares_host_memory is not known here
  std::string reason;             // why it cannot be used; empty if it can
};

class VendorLoader {
 public:
  /// Loads every driver that `options` names; logs what is left out.
  explicit VendorLoader(const DiscoveryOptions& options);

  const std::vector<FoundDriver>& drivers() const { return drivers_; }
  const std::vector<FoundDevice>& devices() const { return devices_; }

 private:
  void add_driver(const VendorLibrary& library);
  /// Adds the platform's devices; why there are none, otherwise.
  std::string add_platform(cl_platform_id platform, backends::DevicePlace place);

  std::vector<FoundDriver> drivers_;
  std::vector<FoundDevice> devices_;
};

}  // namespace tutti::platform
