// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory of a vendor (clSVMAlloc). It belongs to the context in which it was made,
// and is given back to that. Immutable, and so thread-safe.
#pragma once

#include <memory>

#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

class OpenClSharedMemory final : public SharedMemory {
 public:
  /// `context` keeps `handle` alive, which is of this generation.
  static Result<std::unique_ptr<SharedMemory>> create(const VendorDevice& device,
                                                      std::shared_ptr<const void> context,
                                                      cl_context handle, uint32_t generation,
                                                      uint64_t size, uint32_t alignment,
                                                      cl_svm_mem_flags flags);
  ~OpenClSharedMemory() override;

  std::byte* data() const override { return data_; }
  uint64_t size() const override { return size_; }
  uint32_t generation() const { return generation_; }

 private:
  OpenClSharedMemory(const VendorDevice& device, std::shared_ptr<const void> context,
                     cl_context handle, uint32_t generation, std::byte* data, uint64_t size)
      : device_(device),
        context_(std::move(context)),
        handle_(handle),
        generation_(generation),
        data_(data),
        size_(size) {}

  const VendorDevice& device_;
  const std::shared_ptr<const void> context_;
  const cl_context handle_;
  const uint32_t generation_;
  std::byte* const data_;
  const uint64_t size_;
};

/// Whether the driver has all functions that shared memory takes.
bool has_shared_memory(const VendorFunctions& cl);

}  // namespace tutti::backends
