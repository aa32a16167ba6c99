// SPDX-License-Identifier: Apache-2.0
// Copies on one device of what a launch uses, in which it is computed beside what the application
// sees: to verify it, or to vote on it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::scheduler {

class LaunchCopies {
 public:
  LaunchCopies(BackendSet& backends, uint32_t backend) : backends_(backends), backend_(backend) {}

  bool has(const LogicalBuffer& buffer) const { return find(buffer) != nullptr; }
  /// The bytes [begin, end) of the buffer, or all of the image, are in its copy, which is made if
  /// there is none, and valid at the host: what no device writes has to be the same on all.
  /// CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, or the vendor's error.
  Status add(const Ref<LogicalBuffer>& buffer, uint64_t begin, uint64_t end);
  /// What the device's queue gets as arguments: copies where there are some. They live as long as
  /// this object.
  Result<std::vector<backends::Argument>> arguments(const ArgumentSet& arguments);
  /// The bytes [begin, end) of a copy, or all of an image, in the layout of the host's copy. What
  /// lies between an image's rows stays as it is in `to`.
  Status read(const LogicalBuffer& buffer, uint64_t begin, std::span<std::byte> to) const;

 private:
  struct Copy {
    Ref<LogicalBuffer> buffer;
    std::unique_ptr<backends::Memory> memory;
  };
  const Copy* find(const LogicalBuffer& buffer) const;

  BackendSet& backends_;
  const uint32_t backend_;
  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<backends::Memory>> images_;  // made from copies of buffers
};

}  // namespace tutti::scheduler
