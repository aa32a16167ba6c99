// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/device.h"

#include <bit>
#include <span>
#include <utility>

namespace tutti::device_virtual {

Device::Device(std::shared_ptr<const Capabilities> capabilities, const DevicePlatform& platform)
    : platform_(platform),
      behind_(platform.backends.real_devices()),
      capabilities_(std::move(capabilities)) {}

Device::Device(Device& parent, scheduler::BackendMask behind,
               std::vector<cl_device_partition_property> partition)
    : parent_(&parent),
      platform_(parent.platform_),
      behind_(behind),
      capabilities_(parent.platform_.capabilities_of(behind)),
      partition_(std::move(partition)) {}

bool Device::belongs_to(const Device& other) const {
  const Device* device = this;
  while (device != nullptr && device != &other) device = device->parent_.get();
  return device != nullptr;
}

std::vector<uint32_t> Device::backend_list() const {
  std::vector<uint32_t> list;
  for (scheduler::BackendMask rest = behind_; rest != 0; rest &= rest - 1) {
    list.push_back(static_cast<uint32_t>(std::countr_zero(rest)));
  }
  return list;
}

std::vector<Dividend> Device::dividends() const {
  std::vector<Dividend> list;
  for (const uint32_t backend : backend_list()) {
    const backends::DeviceTraits& traits = platform_.backends.traits(backend);
    list.push_back({traits.compute_units, traits.max_parts});
  }
  return list;
}

Status Device::info(cl_device_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_DEVICE_PLATFORM:
      return answer.value<cl_platform_id>(platform_.id);
    case CL_DEVICE_PARENT_DEVICE:
      return answer.value<cl_device_id>(parent_ ? parent_->handle() : nullptr);
    case CL_DEVICE_REFERENCE_COUNT:
      // "If the device is a root-level device, a value of one".
      return answer.value<cl_uint>(is_root() ? 1 : public_references());
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES: {
      const uint32_t most = most_parts(dividends());
      return answer.value<cl_uint>(most >= 2 ? most : 0);
    }
    case CL_DEVICE_PARTITION_PROPERTIES: {
      // "If the device cannot be partitioned … a value of 0 will be returned."
      std::vector<cl_device_partition_property> ways;
      const std::vector<Dividend> behind = dividends();
      if (divides_equally(behind)) ways.push_back(CL_DEVICE_PARTITION_EQUALLY);
      if (most_parts(behind) >= 2) ways.push_back(CL_DEVICE_PARTITION_BY_COUNTS);
      if (ways.empty()) ways.push_back(0);
      return answer.list(std::span<const cl_device_partition_property>(ways));
    }
    case CL_DEVICE_PARTITION_TYPE: {
      // A root device: "either … param_value_size_ret of 0 or … a property value of 0".
      static constexpr cl_device_partition_property kNone[] = {0};
      return answer.list(is_root() ? std::span<const cl_device_partition_property>(kNone)
                                   : std::span<const cl_device_partition_property>(partition_));
    }
    default:
      break;
  }
  const auto found = capabilities_->answers.find(what);
  if (found == capabilities_->answers.end()) {
    for (const auto& [first, last] : capabilities_->primary_queries) {
      if (what < first || what > last) continue;
      backends::Backend& primary = platform_.backends.at(platform_.backends.primary(behind_));
      TUTTI_ASSIGN(const std::vector<std::byte> bytes, primary.device_info(what));
      return answer.bytes(bytes.data(), bytes.size());
    }
    return unknown_query();
  }
  return answer.bytes(found->second.data(), found->second.size());
}

bool Device::matches(cl_device_type type) const {
  // The only device is the default one; CUSTOM is not part of ALL.
  return type == CL_DEVICE_TYPE_ALL || (type & (CL_DEVICE_TYPE_DEFAULT | capabilities_->type)) != 0;
}

Result<Device::Division> Device::plan_sub_devices(
    const cl_device_partition_property* properties) const {
  const std::vector<Dividend> behind = dividends();
  Division division;
  TUTTI_ASSIGN(division.request, read_partition(properties, behind));
  TUTTI_ASSIGN(division.parts, divide(behind, division.request.units));
  return division;
}

Result<std::vector<Ref<Device>>> Device::create_sub_devices(const Division& division) {
  const std::vector<uint32_t> list = backend_list();
  std::vector<scheduler::BackendMask> masks(division.parts.size(), 0);
  for (uint32_t index = 0; index < list.size(); ++index) {
    std::vector<uint32_t> units;  // of the pieces into which it is cut
    std::vector<size_t> owners;   // the parts that get them
    for (size_t part = 0; part < division.parts.size(); ++part) {
      for (const Share& share : division.parts[part]) {
        if (share.index != index) continue;
        if (share.units == platform_.backends.traits(list[index]).compute_units) {
          masks[part] |= scheduler::backend_bit(list[index]);
        } else {
          units.push_back(share.units);
          owners.push_back(part);
        }
      }
    }
    if (units.empty()) continue;
    auto pieces = platform_.backends.parts(list[index], units);
    if (!pieces) {
      // Vendors have more reasons than the specification has codes.
      return fail(CL_DEVICE_PARTITION_FAILED, pieces.error().message);
    }
    for (size_t i = 0; i < owners.size(); ++i) {
      masks[owners[i]] |= scheduler::backend_bit((*pieces)[i]);
    }
  }
  std::vector<Ref<Device>> devices;
  for (const scheduler::BackendMask mask : masks) {
    devices.push_back(Ref<Device>::adopt(new Device(*this, mask, division.request.properties)));
  }
  return devices;
}

}  // namespace tutti::device_virtual
