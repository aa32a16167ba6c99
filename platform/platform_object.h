// SPDX-License-Identifier: Apache-2.0
// The virtual platform. One object per process, made by composition(), never destroyed; immutable.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_virtual/capabilities.h"
#include "device_virtual/command_buffer_api.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"

namespace tutti::platform {

inline constexpr std::string_view kPlatformName = "Tutti";
inline constexpr std::string_view kPlatformVendor = "Tutti project";
/// Extensions of the host API, all of version 1.0.0: those of the platform, and of the device too.
struct HostExtension {
  std::string_view name;
  cl_version version = CL_MAKE_VERSION(1, 0, 0);
};
inline constexpr HostExtension kHostExtensions[] = {
    {"cl_khr_icd"},
    {"cl_khr_create_command_queue"},
    {"cl_khr_extended_versioning"},
    {"cl_khr_suggested_local_work_size"},
    {device_virtual::kCommandBufferExtension, device_virtual::kCommandBufferVersion},
    {device_virtual::kMutableDispatchExtension, device_virtual::kMutableDispatchVersion},
};
/// What the platform is called; by default by our own names.
struct PlatformNames {
  std::string name{kPlatformName};
  std::string vendor{kPlatformVendor};
};

class Platform
    : public device_virtual::Handle<Platform, _cl_platform_id, device_virtual::Kind::kPlatform> {
 public:
  /// `device`: what its only device can do.
  Platform(PlatformNames names, std::shared_ptr<const device_virtual::Capabilities> device)
      : names_(std::move(names)), device_(std::move(device)) {}
  Status info(cl_platform_info what, const device_virtual::InfoAnswer& answer) const;
  /// Of OpenCL: 310, or 300, whose functions are there whatever the device is.
  uint32_t version() const { return std::max(device_->version, 300u); }

 private:
  const PlatformNames names_;
  const std::shared_ptr<const device_virtual::Capabilities> device_;
};

/// "0.1.0": the version of this driver.
std::string_view driver_version();

/// Packs "name" into the fixed array of a cl_name_version.
cl_name_version name_version(std::string_view name, cl_version version);

}  // namespace tutti::platform
