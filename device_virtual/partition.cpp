// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/partition.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tutti::device_virtual {
namespace {

using Property = cl_device_partition_property;

uint32_t units_of(std::span<const Dividend> devices) {
  return std::accumulate(devices.begin(), devices.end(), 0u,
                         [](uint32_t sum, const Dividend& device) { return sum + device.units; });
}

// Hands out units, part by part.
class Divider {
 public:
  explicit Divider(std::span<const Dividend> devices)
      : devices_(devices), pieces_(devices.size(), 0) {
    for (const Dividend& device : devices) left_.push_back(device.units);
  }

  /// False when the part cannot be had from what is left.
  bool take(uint32_t units, Part& part) {
    return take(units, part, false) || take(units, part, true);
  }

 private:
  bool take(uint32_t units, Part& part, bool cut) {
    cut_ = cut;
    hopeless_.clear();
    part.clear();
    if (!search(0, units, part)) return false;
    for (const Share& share : part) {
      if (share.units < devices_[share.index].units) ++pieces_[share.index];
      left_[share.index] -= share.units;
    }
    return true;
  }

  /// `units` from the devices from `index` on, the first ones preferred.
  bool search(uint32_t index, uint32_t units, Part& part) {
    if (units == 0) return true;
    if (index == devices_.size() || hopeless_.contains({index, units})) return false;
    const Dividend& device = devices_[index];
    const uint32_t taken = std::min(left_[index], units);
    const bool whole = taken == device.units;
    const bool piece = cut_ && device.max_pieces >= 2 && pieces_[index] < device.max_pieces;
    if (taken > 0 && (whole || piece)) {
      part.push_back({index, taken});
      if (search(index + 1, units - taken, part)) return true;
      part.pop_back();
    }
    if (search(index + 1, units, part)) return true;
    hopeless_.insert({index, units});
    return false;
  }

  const std::span<const Dividend> devices_;
  std::vector<uint32_t> left_;    // units that no part has yet, per device
  std::vector<uint32_t> pieces_;  // into which it was cut so far, per device
  bool cut_ = false;
  std::set<std::pair<uint32_t, uint32_t>> hopeless_;
};

Result<std::vector<uint32_t>> equal_units(Property size, std::span<const Dividend> devices) {
  // "CL_INVALID_VALUE if values specified in properties are not valid".
  if (size <= 0) return fail(CL_INVALID_VALUE, "parts without compute units");
  // "If n does not divide evenly into CL_DEVICE_MAX_COMPUTE_UNITS, then the remaining compute units
  // are not used."
  const Property all = units_of(devices);
  // "CL_INVALID_DEVICE_PARTITION_COUNT if […] the total number of compute units requested exceeds
  // CL_DEVICE_MAX_COMPUTE_UNITS for in_device".
  if (size > all) return fail(CL_INVALID_DEVICE_PARTITION_COUNT, "parts larger than the device");
  const Property count = all / size;
  // "CL_DEVICE_PARTITION_FAILED if the partition name is supported by the implementation but
  // in_device could not be further partitioned": into itself is not further.
  if (size == all || count > static_cast<Property>(most_parts(devices))) {
    return fail(CL_DEVICE_PARTITION_FAILED, "too few or too many equal parts");
  }
  return std::vector<uint32_t>(static_cast<size_t>(count), static_cast<uint32_t>(size));
}

/// `given` begins after the property's name; what was read is appended to `properties`.
Result<std::vector<uint32_t>> counted_units(const Property* given,
                                            std::span<const Dividend> devices,
                                            std::vector<Property>& properties) {
  // "CL_INVALID_DEVICE_PARTITION_COUNT if the partition name specified in properties is
  // CL_DEVICE_PARTITION_BY_COUNTS and the number of sub-devices requested exceeds
  // CL_DEVICE_PARTITION_MAX_SUB_DEVICES or the total number of compute units requested exceeds
  // CL_DEVICE_MAX_COMPUTE_UNITS for in_device, or the number of compute units requested for one or
  // more sub-devices is less than zero".
  std::vector<uint32_t> units;
  auto left = static_cast<Property>(units_of(devices));
  for (; *given != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END; ++given) {
    if (*given < 0 || *given > left) {
      return fail(CL_INVALID_DEVICE_PARTITION_COUNT, "more compute units than there are");
    }
    left -= *given;
    units.push_back(static_cast<uint32_t>(*given));
    properties.push_back(*given);
    if (units.size() > most_parts(devices)) {
      return fail(CL_INVALID_DEVICE_PARTITION_COUNT, "more sub-devices than there can be");
    }
  }
  if (units.empty()) return fail(CL_INVALID_DEVICE_PARTITION_COUNT, "no sub-devices");
  properties.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
  return units;
}

}  // namespace

uint32_t most_parts(std::span<const Dividend> devices) {
  uint32_t parts = 0;
  for (const Dividend& device : devices) {
    parts += std::max(1u, std::min(device.max_pieces, device.units));
  }
  return parts;
}

Result<std::vector<Part>> divide(std::span<const Dividend> devices,
                                 std::span<const uint32_t> units) {
  Divider divider(devices);
  std::vector<Part> parts(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    if (!divider.take(units[i], parts[i])) {
      return fail(CL_DEVICE_PARTITION_FAILED,
                  "the devices behind cannot be cut into parts of these sizes");
    }
  }
  return parts;
}

bool divides_equally(std::span<const Dividend> devices) {
  const uint32_t units = units_of(devices);
  for (uint32_t size = units / 2; size > 0; --size) {
    if (units / size > most_parts(devices)) return false;
    if (divide(devices, std::vector<uint32_t>(units / size, size))) return true;
  }
  return false;
}

Result<PartitionRequest> read_partition(const Property* properties,
                                        std::span<const Dividend> devices) {
  // "CL_INVALID_VALUE if values specified in properties are not valid or if values specified in
  // properties are valid but not supported by the device."
  if (properties == nullptr) return fail(CL_INVALID_VALUE, "properties is NULL");
  PartitionRequest request;
  request.properties.push_back(properties[0]);
  if (most_parts(devices) < 2) return fail(CL_INVALID_VALUE, "the device cannot be partitioned");
  if (properties[0] == CL_DEVICE_PARTITION_EQUALLY) {
    if (!divides_equally(devices)) return fail(CL_INVALID_VALUE, "the device has no equal parts");
    TUTTI_ASSIGN(request.units, equal_units(properties[1], devices));
    request.properties.push_back(properties[1]);
    if (properties[2] != 0) return fail(CL_INVALID_VALUE, "more than one partition property");
  } else if (properties[0] == CL_DEVICE_PARTITION_BY_COUNTS) {
    TUTTI_ASSIGN(request.units, counted_units(properties + 1, devices, request.properties));
  } else {
    return fail(CL_INVALID_VALUE, "a partition that the device does not offer");
  }
  request.properties.push_back(0);
  return request;
}

}  // namespace tutti::device_virtual
