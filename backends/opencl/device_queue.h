// SPDX-License-Identifier: Apache-2.0
// A vendor's queue on its device, into which kernels enqueue kernels. Immutable, so thread-safe.
#pragma once

#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

class OpenClDeviceQueue final : public DeviceQueue {
 public:
  /// `size`: bytes; 0: as the vendor likes. `as_default`: kernels get it by get_default_queue().
  static Result<std::shared_ptr<OpenClDeviceQueue>> create(const VendorDevice& device,
                                                           cl_context context, uint32_t generation,
                                                           const DeviceQueueOptions& options);
  /// Null where its context was lost.
  cl_command_queue handle() const {
    return generation_ == device_.generation() ? queue_.get() : nullptr;
  }
  /// That no other one of the process ever has; never 0.
  uint64_t number() const { return number_; }

 private:
  OpenClDeviceQueue(const VendorDevice& device, OwnedQueue queue, uint32_t generation);

  const VendorDevice& device_;
  const OwnedQueue queue_;
  const uint32_t generation_;
  const uint64_t number_;
};

}  // namespace tutti::backends
