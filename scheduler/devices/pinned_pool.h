// SPDX-License-Identifier: Apache-2.0
// Pinned host memory, kept for the next buffer when one is gone, since pinning takes milliseconds.
// Drivers take as much of the device's memory for it (NVIDIA's does), which is counted there.
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
    DeviceMemory* counted = nullptr;
    explicit operator bool() const { return memory != nullptr; }
  };
  /// At most `limit` bytes are pinned at a time; by default a quarter of the machine's memory.
  explicit PinnedPool(uint64_t limit = default_limit()) : limit_(limit) {}

  /// At least `size` bytes, from the pool or pinned by `backend`, whose memory is `counted`.
  Block take(backends::Backend& backend, DeviceMemory& counted, uint64_t size);
  void give_back(Block block);

  static uint64_t default_limit();

 private:
  const uint64_t limit_;
  Mutex mutex_;
  uint64_t pinned_ TUTTI_GUARDED_BY(mutex_) = 0;  // bytes, those in use and those kept
  uint64_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::multimap<uint64_t, Block> free_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
