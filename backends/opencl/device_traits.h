// SPDX-License-Identifier: Apache-2.0
// What a vendor's device says of itself, asked with error handling. Stateless but for the query.
#pragma once

#include <string>

#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

/// Reads several properties of a device and keeps the first error. For one thread.
class DeviceQuery {
 public:
  DeviceQuery(const VendorFunctions& cl, cl_device_id device) : cl_(cl), device_(device) {}

  std::string text(cl_device_info what);
  template <typename T>
  T value(cl_device_info what) {
    T result{};
    note(ask_vendor(
             [&] { return cl_.clGetDeviceInfo(device_, what, sizeof result, &result, nullptr); }),
         what);
    return result;
  }
  /// The message names the query that failed.
  Status status() const { return status_; }

 private:
  void note(cl_int code, cl_device_info what);

  const VendorFunctions& cl_;
  const cl_device_id device_;
  Status status_;
};

/// The traits of a device as its vendor tells them; an error's message is the query that failed.
/// shares_host_memory is not known here. `node`: where the device is, on another host; its name
/// says so.
Result<DeviceTraits> read_traits(const VendorFunctions& cl, cl_platform_id platform,
                                 cl_device_id device, const std::string& node = {});

}  // namespace tutti::backends
