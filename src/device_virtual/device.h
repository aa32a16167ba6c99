// SPDX-License-Identifier: Apache-2.0
// The virtual device. One object per process, made by composition(), never destroyed; immutable. A
// root device: retaining and releasing it does nothing.
#pragma once

#include <CL/cl.h>

#include "device_virtual/capability_merger.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"

namespace tutti::device_virtual {

class Device : public Handle<Device, _cl_device_id, Kind::kDevice> {
 public:
  explicit Device(const Capabilities& capabilities) : capabilities_(capabilities) {}

  const Capabilities& capabilities() const { return capabilities_; }
  Status info(cl_device_info what, const InfoAnswer& answer) const;
  /// Is it among those that clGetDeviceIDs and clCreateContextFromType mean by `type`?
  bool matches(cl_device_type type) const;

 private:
  const Capabilities& capabilities_;
};

}  // namespace tutti::device_virtual
