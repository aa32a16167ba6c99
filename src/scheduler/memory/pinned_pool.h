// SPDX-License-Identifier: Apache-2.0
// Pinned host memory, kept for the next buffer when one is gone, since pinning takes milliseconds.
// Thread-safe; its lock is not held while a vendor is called.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "backends/api/backend.h"
#include "platform/thread_annotations.h"

namespace tutti::scheduler {

class PinnedPool {
 public:
  /// At most `limit` bytes are pinned at a time; by default a quarter of the machine's memory.
  explicit PinnedPool(uint64_t limit = default_limit()) : limit_(limit) {}

  /// At least `size` bytes, from the pool or pinned by `backend`; null where that cannot be.
  std::unique_ptr<backends::PinnedMemory> take(backends::Backend& backend, uint64_t size);
  void give_back(std::unique_ptr<backends::PinnedMemory> memory);

  static uint64_t default_limit();

 private:
  const uint64_t limit_;
  Mutex mutex_;
  uint64_t pinned_ TUTTI_GUARDED_BY(mutex_) = 0;  // bytes, those in use and those kept
  uint64_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::multimap<uint64_t, std::unique_ptr<backends::PinnedMemory>> free_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
