// SPDX-License-Identifier: Apache-2.0
// The composition root of the backends: from the options to the real devices that take part.
// Thread-safe; the vendors are looked for once per process and vendors list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/api/backend.h"
#include "base/config.h"
#include "platform/vendor_loader.h"

namespace tutti::platform {

/// What became of one real device.
struct DeviceReport {
  size_t index = 0;  // as `tutti devices` shows it
  std::string platform;
  std::string name;
  cl_device_type type = CL_DEVICE_TYPE_CPU;
  bool used = false;
  std::string reason;  // why not; empty if used
  uint32_t compute_units = 0;
  uint64_t memory = 0;  // bytes
  std::string version;  // "OpenCL 3.0 …"
  std::string driver_version;
  uint64_t local_memory = 0;  // bytes; 0: not known
  uint32_t clock_mhz = 0;     // 0: not known
  std::string pci_address;    // "0000:3b:00.0"; empty: not known, or none
  // Tells it from others of its platform and name: the PCI address, else "#2", the number among
  // them; empty: it is the only one.
  std::string mark;
  bool apart = false;     // a process of its own drives it (TUTTI_ISOLATE)
  std::string node;       // where it is, on another host; empty: on this one
  bool required = false;  // nothing is offered without it; not of what TUTTI_DEVICES leaves out

  /// The name and the mark.
  std::string label() const { return mark.empty() ? name : name + " " + mark; }
};

/// Gives each of the devices its mark.
void tell_apart(std::vector<DeviceReport>& devices);

/// The drivers and devices that `config` leads to. Never destroyed.
const VendorLoader& vendor_loader(const Config& config);

/// What is wrong with TUTTI_DEVICES, a sentence each: items that match no device, or none that can
/// be used.
std::vector<std::string> selection_problems(const Config& config);

/// The device, among those in use, that a text means as an item of TUTTI_DEVICES does; absent:
/// none.
std::optional<size_t> find_device(std::string_view text, const std::vector<DeviceReport>& devices);

/// The device in this process, without the cores of a processor that the host keeps.
std::unique_ptr<backends::Backend> create_backend(const FoundDevice& found, uint32_t index,
                                                  uint32_t keep_cores);

/// A backend for each device that takes part, in the order of TUTTI_DEVICES. `report`, where given,
/// takes a line per device found, in the order of their indices. Warnings go to the log.
std::vector<std::unique_ptr<backends::Backend>> create_backends(const Config& config,
                                                                std::vector<DeviceReport>* report);

/// "cpu", "gpu", "accelerator" or "custom".
const char* device_type_name(cl_device_type type);

}  // namespace tutti::platform
