// SPDX-License-Identifier: Apache-2.0
// What a program sees of a platform and its device, in the words in which profiles
// (base/profiles.h) and people ask: of the virtual device as the driver would show it with some
// settings, and of a real one. Vendors are asked by whoever asks a view; used by one thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/profiles.h"
#include "platform/capability_merger.h"

namespace tutti::tools {

/// A property's value: of a list, `text` has all items; of a number, as a person writes it.
struct PropertyValue {
  std::string text;
  std::optional<std::vector<std::string>> items;
  std::optional<double> number;
};

class DeviceView {
 public:
  using Info = std::function<Result<std::vector<std::byte>>(cl_device_info)>;

  /// The real device, natively; it lives longer.
  static DeviceView native(const platform::DeviceFacts& device);
  /// The virtual device in front of `devices`, which live longer; `primary`: an index into them.
  static DeviceView shown(std::span<const platform::DeviceFacts> devices, size_t primary,
                          const platform::ShownAs& as);

  /// Absent: the device does not answer, or there is no such property.
  std::optional<PropertyValue> property(std::string_view name) const;

 private:
  DeviceView(std::string platform_name, std::string platform_vendor, Info info);

  std::string platform_name_, platform_vendor_;
  Info info_;
};

/// The names of all properties, in the order in which people read them.
std::vector<std::string_view> property_names();

/// "contains one of NVIDIA, Intel", "at least 1.2": what a check wants of its property.
std::string wanted(const ProfileCheck& check);
/// Whether the program finds what it wants. What a device does not answer is not as wanted where
/// something must be there.
bool holds(const ProfileCheck& check, const std::optional<PropertyValue>& value);

}  // namespace tutti::tools
