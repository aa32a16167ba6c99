// SPDX-License-Identifier: Apache-2.0
// A device as the application sees it. The virtual device is the root: one object per process, made
// by the platform, never destroyed; retaining and releasing it does nothing. Its sub-devices, and
// theirs, have some of the real devices behind it, or vendors' parts of them; they are counted as
// all objects. Immutable, so thread-safe.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <vector>

#include "base/ref_counted.h"
#include "device_virtual/capabilities.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/partition.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::device_virtual {

/// The platform, as its devices see it; lives until the process ends.
struct DevicePlatform {
  cl_platform_id id = nullptr;
  scheduler::BackendSet& backends;
  /// What a device with these backends behind it answers.
  std::shared_ptr<const Capabilities> (*capabilities_of)(scheduler::BackendMask backends);
};

class Device : public Handle<Device, _cl_device_id, Kind::kDevice> {
 public:
  /// The root: all real devices.
  Device(std::shared_ptr<const Capabilities> capabilities, const DevicePlatform& platform);

  bool is_root() const { return parent_ == nullptr; }
  const Capabilities& capabilities() const { return *capabilities_; }
  const std::shared_ptr<const Capabilities>& shared_capabilities() const { return capabilities_; }
  /// What stands behind it: where kernels of its queues may run.
  scheduler::BackendMask backends() const { return behind_; }
  const DevicePlatform& platform() const { return platform_; }
  /// Is it `other`, or a part of it, or a part of such a part …?
  bool belongs_to(const Device& other) const;

  Status info(cl_device_info what, const InfoAnswer& answer) const;
  /// Is it among those that clGetDeviceIDs and clCreateContextFromType mean by `type`?
  bool matches(cl_device_type type) const;

  /// What clCreateSubDevices asks for, checked and divided; nothing is made yet.
  struct Division {
    PartitionRequest request;
    std::vector<Part> parts;
  };
  Result<Division> plan_sub_devices(const cl_device_partition_property* properties) const;
  /// Each with one public reference, for the application.
  Result<std::vector<Ref<Device>>> create_sub_devices(const Division& division);

 private:
  Device(Device& parent, scheduler::BackendMask behind,
         std::vector<cl_device_partition_property> partition);
  std::vector<uint32_t> backend_list() const;
  std::vector<Dividend> dividends() const;

  const Ref<Device> parent_;
  const DevicePlatform& platform_;
  const scheduler::BackendMask behind_;
  const std::shared_ptr<const Capabilities> capabilities_;
  const std::vector<cl_device_partition_property> partition_;  // that made it, with closing zeros
};

}  // namespace tutti::device_virtual
