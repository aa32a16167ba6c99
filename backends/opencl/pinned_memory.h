// SPDX-License-Identifier: Apache-2.0
// Host memory that a vendor's driver has pinned: pages of our own, mapped for good through a buffer
// that uses them. Drivers that are asked for such memory (CL_MEM_ALLOC_HOST_PTR) make it of small
// pages, one after the other; huge ones that several threads have touched take a fifth of the time
// (docs/platform-notes.md).
#pragma once

#include "backends/opencl/opencl_objects.h"
#include "base/host_pages.h"

namespace tutti::backends {

class OpenClPinnedMemory final : public PinnedMemory {
 public:
  /// Of memory that outlives it. The vendor's error where it has none, or maps the buffer
  /// elsewhere.
  static Result<std::unique_ptr<PinnedMemory>> create(const VendorDevice& device,
                                                      cl_context context, std::byte* data,
                                                      uint64_t size);
  ~OpenClPinnedMemory() override;

  std::byte* data() const override { return data_; }
  uint64_t size() const override { return size_; }

 private:
  OpenClPinnedMemory(const VendorDevice& device, OwnedQueue queue, OwnedMemory memory,
                     std::byte* data, uint64_t size)
      : device_(device),
        queue_(std::move(queue)),
        memory_(std::move(memory)),
        data_(data),
        size_(size) {}

  const VendorDevice& device_;
  const OwnedQueue queue_;
  const OwnedMemory memory_;
  std::byte* const data_;
  const uint64_t size_;
};

/// Pages, and what has pinned them.
class PinnedPages final : public PinnedMemory {
 public:
  PinnedPages(HostPages pages, std::unique_ptr<PinnedMemory> pinned)
      : pages_(std::move(pages)), pinned_(std::move(pinned)) {}
  std::byte* data() const override { return pinned_->data(); }
  uint64_t size() const override { return pinned_->size(); }

 private:
  const HostPages pages_;  // goes after what refers to it
  const std::unique_ptr<PinnedMemory> pinned_;
};

}  // namespace tutti::backends
