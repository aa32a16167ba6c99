// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/pinned_pool.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kMostKept = uint64_t{256} << 20;  // bytes that nobody uses

}  // namespace

uint64_t PinnedPool::default_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 4 : 0;
}

PinnedPool::Block PinnedPool::take(backends::Backend& backend, DeviceMemory& counted,
                                   uint64_t size) {
  {
    MutexLock lock(mutex_);
    // A block of up to twice the size: larger ones wait for larger buffers.
    const auto found = free_.lower_bound(size);
    if (found != free_.end() && found->first <= 2 * size) {
      Block block = std::move(found->second);
      kept_ -= found->first;
      free_.erase(found);
      return block;
    }
    if (size > limit_ || pinned_ > limit_ - size) return {};
    pinned_ += size;
  }
  if (counted.reserve(size)) {
    auto memory = backend.allocate_pinned(size);
    if (memory) return {std::move(*memory), &counted};
    log(LogLevel::kInfo, "no pinned memory: {}", memory.error().message);
    counted.release(size);
  }
  MutexLock lock(mutex_);
  pinned_ -= size;
  return {};
}

void PinnedPool::give_back(Block block) {
  const uint64_t size = block.memory->size();
  MutexLock lock(mutex_);
  if (kept_ + size <= kMostKept) {
    kept_ += size;
    free_.emplace(size, std::move(block));
    return;
  }
  pinned_ -= size;
  lock.unlock();
  block.memory.reset();
  block.counted->release(size);
}

}  // namespace tutti::scheduler
