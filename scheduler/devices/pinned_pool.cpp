// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/pinned_pool.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kMostKept = uint64_t{256} << 20;  // bytes that nobody uses
constexpr uint64_t kStagesPart = 64;                 // of a device's memory, for stages

uintptr_t address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

}  // namespace

uint64_t PinnedPool::default_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 4 : 0;
}

PinnedPool::Block PinnedPool::find(Free& blocks, uint64_t size) {
  const auto found = blocks.lower_bound(size);
  if (found == blocks.end() || found->first > 2 * size) return {};
  Block block = std::move(found->second);
  blocks.erase(found);
  return block;
}

std::unique_ptr<backends::PinnedMemory> PinnedPool::pin(backends::Backend& backend, uint64_t size) {
  auto memory = backend.allocate_pinned(size);
  if (!memory) {
    log(LogLevel::kInfo, "no pinned memory: {}", memory.error().message);
    return nullptr;
  }
  const MutexLock lock(mutex_);
  all_[address_of((*memory)->data())] = (*memory)->size();
  return std::move(*memory);
}

PinnedPool::Block PinnedPool::take(backends::Backend& backend, DeviceMemory& counted,
                                   uint64_t size) {
  {
    MutexLock lock(mutex_);
    if (Block block = find(free_, size)) {
      kept_ -= block.memory->size();
      return block;
    }
    if (size > limit_ || pinned_ > limit_ - size) return {};
    pinned_ += size;
  }
  if (counted.reserve(size)) {
    if (auto memory = pin(backend, size)) return {std::move(memory), &counted};
    counted.release(size);
  }
  MutexLock lock(mutex_);
  pinned_ -= size;
  return {};
}

PinnedPool::Block PinnedPool::take_stage(backends::Backend& backend, uint64_t size) {
  const uint64_t most = std::min(kMostStages, backend.traits().global_memory / kStagesPart);
  {
    MutexLock lock(mutex_);
    if (Block block = find(free_stages_, size)) return block;
    if (size > most || staged_ > most - size) return {};
    staged_ += size;
  }
  if (auto memory = pin(backend, size)) return {std::move(memory), nullptr};
  MutexLock lock(mutex_);
  staged_ -= size;
  return {};
}

void PinnedPool::give_back(Block block) {
  const uint64_t size = block.memory->size();
  MutexLock lock(mutex_);
  if (!block.counted) {
    free_stages_.emplace(size, std::move(block));
    return;
  }
  if (kept_ + size <= kMostKept) {
    kept_ += size;
    free_.emplace(size, std::move(block));
    return;
  }
  pinned_ -= size;
  all_.erase(address_of(block.memory->data()));
  lock.unlock();
  block.memory.reset();
  block.counted->release(size);
}

bool PinnedPool::holds(const void* data, uint64_t size) const {
  const uintptr_t begin = address_of(data);
  const MutexLock lock(mutex_);
  auto found = all_.upper_bound(begin);
  if (found == all_.begin()) return false;
  --found;
  const uint64_t before = begin - found->first;
  return before < found->second && size <= found->second - before;
}

}  // namespace tutti::scheduler
