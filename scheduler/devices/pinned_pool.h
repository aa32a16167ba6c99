// SPDX-License-Identifier: Apache-2.0
// Pinned host memory, kept for the next buffer when one is gone, since pinning takes milliseconds;
// and blocks of it through which transfers pass. Drivers take as much of the device's memory for it
// (NVIDIA's does): what buffers have is counted there.
// Thread-safe; its lock is not held while a vendor is called.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "backends/api/backend.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/device_memory.h"

namespace tutti::scheduler {

class PinnedPool {
 public:
  struct Block {
    std::unique_ptr<backends::PinnedMemory> memory;  // null: none
    DeviceMemory* counted = nullptr;                 // null: a stage
    explicit operator bool() const { return memory != nullptr; }
  };
  /// At most `limit` bytes are pinned at a time; by default a quarter of the machine's memory.
  explicit PinnedPool(uint64_t limit = default_limit()) : limit_(limit) {}

  /// At least `size` bytes, from the pool or pinned by `backend`, whose memory is `counted`.
  Block take(backends::Backend& backend, DeviceMemory& counted, uint64_t size);
  /// The same for transfers that pass through it. Not counted: it is little beside what a device
  /// has that buffers may not have, and is needed most where buffers have all the rest.
  Block take_stage(backends::Backend& backend, uint64_t size);
  void give_back(Block block);
  /// Whether all these bytes have been pinned here.
  bool holds(const void* data, uint64_t size) const;

  static constexpr uint64_t kMostStages = 128 << 20;  // bytes at a time
  static uint64_t default_limit();

 private:
  using Free = std::multimap<uint64_t, Block>;
  /// One of up to twice the size: larger ones wait for larger buffers. Null: there is none.
  static Block find(Free& blocks, uint64_t size);
  /// Pins memory; null: there is none.
  std::unique_ptr<backends::PinnedMemory> pin(backends::Backend& backend, uint64_t size)
      TUTTI_EXCLUDES(mutex_);

  const uint64_t limit_;
  mutable Mutex mutex_;
  uint64_t pinned_ TUTTI_GUARDED_BY(mutex_) = 0;  // bytes, those in use and those kept
  uint64_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t staged_ TUTTI_GUARDED_BY(mutex_) = 0;  // beside these, for stages
  Free free_ TUTTI_GUARDED_BY(mutex_), free_stages_ TUTTI_GUARDED_BY(mutex_);
  std::map<uintptr_t, uint64_t> all_ TUTTI_GUARDED_BY(mutex_);  // begins and sizes
};

}  // namespace tutti::scheduler
