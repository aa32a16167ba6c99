// SPDX-License-Identifier: Apache-2.0
// Shared memory of a vendor (clSVMAlloc, cl_intel_unified_shared_memory), and buffers whose
// addresses stay (cl_ext_buffer_device_address). It belongs to the context in which it was made,
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
                                                      const SharedRequest& request);
  ~OpenClSharedMemory() override;

  std::byte* data() const override { return data_; }
  uint64_t size() const override { return size_; }
  SharedKind kind() const override { return kind_; }
  uint32_t generation() const { return generation_; }
  /// Of a buffer; else null.
  cl_mem buffer() const { return buffer_.get(); }

 private:
  static Result<std::unique_ptr<SharedMemory>> create_buffer(const VendorDevice& device,
                                                             std::shared_ptr<const void> context,
                                                             cl_context handle, uint32_t generation,
                                                             const SharedRequest& request);
  OpenClSharedMemory(const VendorDevice& device, std::shared_ptr<const void> context,
                     cl_context handle, uint32_t generation, std::byte* data,
                     const SharedRequest& request)
      : device_(device),
        context_(std::move(context)),
        handle_(handle),
        generation_(generation),
        data_(data),
        size_(request.size),
        kind_(request.kind) {}

  const VendorDevice& device_;
  const std::shared_ptr<const void> context_;
  const cl_context handle_;
  const uint32_t generation_;
  std::byte* const data_;
  const uint64_t size_;
  const SharedKind kind_;
  OwnedMemory buffer_;
};

/// Whether the driver has all functions that shared virtual memory takes, or unified memory.
bool has_shared_memory(const VendorFunctions& cl);
bool has_unified_memory(const VendorFunctions& cl);
/// Likewise, that buffers with addresses take.
bool has_buffer_addresses(const VendorFunctions& cl);

/// The vendor's calls, of functions that are there, but for buffers. Null: `code` says why. The
/// caller has the turn.
std::byte* allocate_shared_memory(const VendorDevice& device, cl_context context,
                                  const SharedRequest& request, cl_int& code);
void free_shared_memory(const VendorDevice& device, cl_context context, SharedKind kind,
                        std::byte* data);

}  // namespace tutti::backends
