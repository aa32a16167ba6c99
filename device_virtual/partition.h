// SPDX-License-Identifier: Apache-2.0
// The arithmetic of sub-devices: which compute units of what stands behind a device make up each of
// its parts. A part takes whole devices where their units add up to its own, else a piece of a
// device that its vendor can cut. Pure functions on plain values.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace tutti::device_virtual {

/// One device behind the device that is divided.
struct Dividend {
  uint32_t units = 1;
  uint32_t max_pieces = 1;  // into how many its vendor can cut it; below 2: it takes part whole
};

/// What a part has of one of them: all its units, or fewer.
struct Share {
  uint32_t index = 0;
  uint32_t units = 0;
  bool operator==(const Share&) const = default;
};
using Part = std::vector<Share>;

/// Into how many parts at most. CL_DEVICE_PARTITION_MAX_SUB_DEVICES is this, or 0 where it is 1.
uint32_t most_parts(std::span<const Dividend> devices);

/// Parts with so many units each, which do not meet. Pieces of one device are in the order of the
/// parts. CL_DEVICE_PARTITION_FAILED when it does not come out even.
Result<std::vector<Part>> divide(std::span<const Dividend> devices,
                                 std::span<const uint32_t> units);

/// Is there a size that gives at least two equal parts?
bool divides_equally(std::span<const Dividend> devices);

/// A list as given to clCreateSubDevices.
struct PartitionRequest {
  std::vector<cl_device_partition_property> properties;  // with all closing zeros
  std::vector<uint32_t> units;                           // of each part
};
/// CL_INVALID_VALUE, CL_INVALID_DEVICE_PARTITION_COUNT; CL_DEVICE_PARTITION_FAILED when not one
/// equal part of that size can be had.
Result<PartitionRequest> read_partition(const cl_device_partition_property* properties,
                                        std::span<const Dividend> devices);

}  // namespace tutti::device_virtual
