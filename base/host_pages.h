// SPDX-License-Identifier: Apache-2.0
// Memory of the process in pages of its own: huge ones where it is large and the system has them,
// which are provided some four times as fast as small ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace tutti {

/// Zeroed when allocated.
class HostPages {
 public:
  /// Rounded up to whole pages, and at the begin of one. Large allocations do not begin at equal
  /// addresses modulo a huge page, nor do 32 consecutive ones modulo 128 KiB: arrays that a loop
  /// walks side by side would share the few places of a cache that such addresses fall on.
  /// CL_OUT_OF_HOST_MEMORY.
  static Result<HostPages> allocate(uint64_t size);
  HostPages(HostPages&& other) noexcept;
  HostPages& operator=(HostPages&&) = delete;
  ~HostPages();

  std::byte* data() const { return data_; }
  /// Has the system provide all pages now.
  void touch() const;

 private:
  HostPages(std::byte* mapped, uint64_t mapped_size, std::byte* data, uint64_t size)
      : mapped_(mapped), mapped_size_(mapped_size), data_(data), size_(size) {}

  std::byte* mapped_;  // what was mapped; null: moved from
  uint64_t mapped_size_;
  std::byte* data_;  // what is used of it
  uint64_t size_;
};

}  // namespace tutti
