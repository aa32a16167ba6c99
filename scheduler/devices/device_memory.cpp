// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/device_memory.h"

#include <algorithm>
#include <utility>

namespace tutti::scheduler {
namespace {

constexpr uint64_t kMostKeptPart = 16, kMostReservedPart = 4;  // of the capacity
// Smaller ones are quick to allocate, and would fill the store.
constexpr uint64_t kWorthKeeping = 64 << 10;

}  // namespace

void DeviceMemory::set_capacity(uint64_t bytes) {
  MutexLock lock(mutex_);
  capacity_ = limit_ = bytes;
}

uint64_t DeviceMemory::capacity() const {
  MutexLock lock(mutex_);
  return capacity_;
}

uint64_t DeviceMemory::for_buffers() const {
  MutexLock lock(mutex_);
  return capacity_ - std::min(capacity_, reserved_ + held_);
}

uint64_t DeviceMemory::peak() const {
  MutexLock lock(mutex_);
  return peak_;
}

void DeviceMemory::note() {
  const uint64_t there = used_ - reserved_ - asked_;
  peak_ = std::max(peak_, there);
  history_.changed(there);
}

bool DeviceMemory::reserve(uint64_t bytes) {
  Kept dropped;
  MutexLock lock(mutex_);
  const uint64_t most = capacity_ / kMostReservedPart;
  if (bytes > most || reserved_ > most - bytes) return false;
  if (used_ > limit_ || bytes > limit_ - used_) return false;
  dropped = make_room(bytes);
  used_ += bytes;
  reserved_ += bytes;
  lock.unlock();
  dropped.clear();
  return true;
}

void DeviceMemory::release(uint64_t bytes) {
  MutexLock lock(mutex_);
  used_ -= bytes;
  reserved_ -= bytes;
}

bool DeviceMemory::hold(uint64_t bytes) {
  Kept dropped;
  MutexLock lock(mutex_);
  if (bytes > capacity_ || held_ > capacity_ - bytes) return false;
  dropped = make_room(bytes);
  used_ += bytes;
  held_ += bytes;
  note();
  lock.unlock();
  dropped.clear();
  return true;
}

void DeviceMemory::let_go(uint64_t bytes) {
  MutexLock lock(mutex_);
  used_ -= bytes;
  held_ -= bytes;
  note();
}

void DeviceMemory::drop_kept() {
  Kept dropped;  // with no lock held
  MutexLock lock(mutex_);
  dropped = make_room(UINT64_MAX);
  lock.unlock();
}

bool DeviceMemory::has_room_locked(uint64_t bytes) const {
  const uint64_t of_buffers = used_ - reserved_;
  return used_ <= limit_ && bytes <= limit_ - used_ && of_buffers <= capacity_ &&
         bytes <= capacity_ - of_buffers;
}

bool DeviceMemory::has_room(uint64_t bytes) const {
  MutexLock lock(mutex_);
  return has_room_locked(bytes);
}

void DeviceMemory::insist(uint64_t bytes) {
  MutexLock lock(mutex_);
  const uint64_t most = capacity_ + std::min(reserved_, UINT64_MAX - capacity_);
  limit_ = std::max(limit_, bytes < most - std::min(used_, most) ? used_ + bytes : most);
}

std::vector<Ref<MemoryOwner>> DeviceMemory::owners() const {
  std::vector<Ref<MemoryOwner>> result;
  MutexLock lock(mutex_);
  for (const auto& [owner, bytes] : owners_) {
    if (owner->try_retain()) result.push_back(Ref<MemoryOwner>::adopt(owner));
  }
  return result;
}

DeviceMemory::Kept DeviceMemory::make_room(uint64_t bytes) {
  Kept out;
  while (!free_.empty() &&
         (bytes > limit_ || used_ + kept_ > limit_ - bytes)) {  // the largest first
    const auto last = std::prev(free_.end());
    kept_ -= last->first;
    out.insert(free_.extract(last));
  }
  return out;
}

template <typename Allocate>
Result<std::unique_ptr<backends::Memory>> DeviceMemory::allocate_with(uint64_t size,
                                                                      MemoryOwner& owner,
                                                                      const Allocate& allocate) {
  Kept dropped;
  {
    MutexLock lock(mutex_);
    // Here, where it is counted: others may have taken what there was when the owner asked.
    if (!has_room_locked(size)) {
      return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device's memory is full");
    }
    dropped = make_room(size);
    used_ += size;
    asked_ += size;
    owners_[&owner] += size;
  }
  dropped.clear();
  auto memory = allocate();
  if (!memory) {
    {
      MutexLock lock(mutex_);
      dropped = make_room(UINT64_MAX);
    }
    if (!dropped.empty()) {
      dropped.clear();
      memory = allocate();
    }
  }
  MutexLock lock(mutex_);
  asked_ -= size;
  if (memory) {
    note();
    return memory;
  }
  used_ -= size;
  if ((owners_[&owner] -= size) == 0) owners_.erase(&owner);
  const cl_int code = memory.error().code;
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES) {
    limit_ = std::min(limit_, used_ + size - 1);
  }
  return memory;
}

Result<std::unique_ptr<backends::Memory>> DeviceMemory::allocate(backends::Backend& backend,
                                                                 uint64_t size,
                                                                 MemoryOwner& owner) {
  {
    MutexLock lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end() && has_room_locked(size)) {
      auto memory = std::move(found->second);
      free_.erase(found);
      kept_ -= size;
      used_ += size;
      owners_[&owner] += size;
      note();
      return memory;
    }
  }
  return allocate_with(size, owner, [&] { return backend.allocate(size, nullptr); });
}

Result<std::unique_ptr<backends::Memory>> DeviceMemory::allocate_image(
    backends::Backend& backend, const backends::ImageShape& shape, MemoryOwner& owner) {
  return allocate_with(owner.size(), owner, [&] { return backend.allocate_image(shape); });
}

void DeviceMemory::give_back(std::unique_ptr<backends::Memory> memory, uint64_t size,
                             MemoryOwner& owner, bool keep) {
  MutexLock lock(mutex_);
  used_ -= size;
  if ((owners_[&owner] -= size) == 0) owners_.erase(&owner);
  note();
  if (used_ < limit_ / 2) limit_ = capacity_;
  if (keep && size >= kWorthKeeping && kept_ + size <= capacity_ / kMostKeptPart) {
    kept_ += size;
    free_.emplace(size, std::move(memory));
    return;
  }
  lock.unlock();
  memory.reset();
}

}  // namespace tutti::scheduler
