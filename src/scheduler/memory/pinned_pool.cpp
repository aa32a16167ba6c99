// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/pinned_pool.h"

#include <unistd.h>

#include <utility>

#include "platform/log.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kMostKept = uint64_t{256} << 20;  // bytes that nobody uses

}  // namespace

uint64_t PinnedPool::default_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 4 : 0;
}

std::unique_ptr<backends::PinnedMemory> PinnedPool::take(backends::Backend& backend,
                                                         uint64_t size) {
  {
    MutexLock lock(mutex_);
    // A block of up to twice the size: larger ones wait for larger buffers.
    const auto found = free_.lower_bound(size);
    if (found != free_.end() && found->first <= 2 * size) {
      auto memory = std::move(found->second);
      kept_ -= found->first;
      free_.erase(found);
      return memory;
    }
    if (size > limit_ || pinned_ > limit_ - size) return nullptr;
    pinned_ += size;
  }
  auto memory = backend.allocate_pinned(size);
  if (memory) return std::move(*memory);
  log(LogLevel::kInfo, "no pinned memory: {}", memory.error().message);
  MutexLock lock(mutex_);
  pinned_ -= size;
  return nullptr;
}

void PinnedPool::give_back(std::unique_ptr<backends::PinnedMemory> memory) {
  const uint64_t size = memory->size();
  MutexLock lock(mutex_);
  if (kept_ + size <= kMostKept) {
    kept_ += size;
    free_.emplace(size, std::move(memory));
    return;
  }
  pinned_ -= size;
  lock.unlock();
  memory.reset();
}

}  // namespace tutti::scheduler
