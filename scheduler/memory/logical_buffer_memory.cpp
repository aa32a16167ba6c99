// SPDX-License-Identifier: Apache-2.0
// The memory that a buffer has, of the host and on devices.
#include <algorithm>
#include <cstdlib>

#include "scheduler/devices/backend_set.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kWorthPinning = 1 << 20;  // bytes: pinning less costs more than it brings
constexpr uint64_t kWorthPages = 4 << 20;    // bytes: a few huge pages
// More than this many bytes take long to pin (some 5 GB/s) for a part of the buffer as small as
// that.
constexpr uint64_t kSoonPinned = 4 << 20;
constexpr uint64_t kSmallPart = 64;
constexpr size_t kHostAlignment = 4096;  // page: vendors take such memory without a copy

}  // namespace

Status LogicalBuffer::allocate_host(uint64_t wanted, bool for_application) {
  MutexLock lock(allocation_mutex_);
  if (host_.load(std::memory_order_relaxed)) return {};
  const bool small_part = size() > kSoonPinned && wanted < size() / kSmallPart;
  // Without pinning, a read may wait in the call for what is before it.
  if ((size() >= kWorthPinning && !small_part) || for_application) {
    for (uint32_t i = 0; i < backends_.real_count() && !pinned_; ++i) {
      if (!backends_.traits(i).pins_host_memory) continue;
      pinned_ =
          backends_.pinned().take(backends_.at(i), backends_.memory(i),
                                  (size() + kHostAlignment - 1) / kHostAlignment * kHostAlignment);
    }
    // CPU devices compute in the host's copy, and want it aligned.
    if (pinned_ && reinterpret_cast<uintptr_t>(pinned_.memory->data()) % kHostAlignment != 0) {
      backends_.pinned().give_back(std::move(pinned_));
    }
    if (pinned_) {
      host_.store(pinned_.memory->data(), std::memory_order_release);
      return {};
    }
  }
  if (size() >= kWorthPages) {
    auto pages = HostPages::allocate(size());
    if (!pages) return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "no host memory for a buffer");
    pages_.emplace(std::move(*pages));
    host_.store(pages_->data(), std::memory_order_release);
    return {};
  }
  // A whole number of pages: aligned_alloc demands it, and vendors map whole pages.
  const uint64_t bytes = (size() + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  void* memory = bytes >= size() ? std::aligned_alloc(kHostAlignment, bytes) : nullptr;
  if (!memory) return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "no host memory for a buffer");
  host_.store(static_cast<std::byte*>(memory), std::memory_order_release);
  return {};
}

Result<std::byte*> LogicalBuffer::host_memory(uint64_t wanted) {
  if (std::byte* memory = host_.load(std::memory_order_acquire)) return memory;
  TUTTI_TRY(allocate_host(wanted));
  return host_.load(std::memory_order_acquire);
}

Result<Shard> LogicalBuffer::shard(uint32_t backend, uint64_t begin, uint64_t end) {
  if (const Allocation* there = allocation(backend)) {
    // Of an image all is there, whatever its vendor makes of the bytes.
    if (there->shard.holds(begin, end)) return there->shard;
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device has another range of the buffer");
  }
  void* host = nullptr;
  if (place_on(backend) == kHostPlace) {
    TUTTI_ASSIGN(host, host_memory());
  }
  auto made = allocate_on(backend, host, {0, size()});
  if (!made) backends_.health().note_failure(backend, made.error());
  return made;
}

Result<Shard> LogicalBuffer::allocate_on(uint32_t backend, void* host, const ByteRange& range) {
  // Allocating is rare and must happen once: this lock is this buffer's alone and guards nothing
  // that a vendor could need, so holding it through the vendor's call cannot deadlock.
  MutexLock lock(allocation_mutex_);
  if (const auto* there = allocation(backend)) return there->shard;
  backends::Backend& device = backends_.at(backend);
  DeviceMemory& pool = backends_.memory(backend);
  // The home's memory is there already, and is counted. A pipe cannot make room for others.
  TUTTI_ASSIGN(auto memory, pipe_              ? device.allocate_pipe(*pipe_)
                            : backend == home_ ? device.memory_over(*shared_)
                            : image_           ? pool.allocate_image(device, *image_, *this)
                            : host             ? device.allocate(size(), host)
                                               : pool.allocate(device, range.size(), *this));
  return keep(backend, std::move(memory), range, range.size());
}

Shard LogicalBuffer::keep(uint32_t backend, std::unique_ptr<backends::Memory> memory,
                          const ByteRange& range, uint64_t bytes) {
  backends::Memory* const made = memory.get();
  allocations_.push_back(std::make_unique<const Allocation>(
      Allocation{backend, {made, range}, std::move(memory), bytes}));
  publish(backend, allocations_.back().get());
  return allocations_.back()->shard;
}

void LogicalBuffer::give_back(std::unique_ptr<const Allocation> allocation, bool keep) {
  // Nobody else sees it any more.
  auto& last = const_cast<Allocation&>(*allocation);
  backends_.memory(last.backend).give_back(std::move(last.owned), last.bytes, *this, keep);
}

Status LogicalBuffer::save_outside(Place place, const ByteRange& range) {
  for (const auto& segment : segments(0, size())) {
    if (segment.places != place_bit(place)) continue;
    const uint64_t before = std::min(segment.end, range.begin);
    const uint64_t behind = std::max(segment.begin, range.end);
    if (segment.begin < before) TUTTI_TRY(make_valid(kHostPlace, segment.begin, before));
    if (behind < segment.end) TUTTI_TRY(make_valid(kHostPlace, behind, segment.end));
  }
  return {};
}

Status LogicalBuffer::reshape(uint32_t backend, const ByteRange& range) {
  const Allocation* const there = allocation(backend);
  if (!there) return allocate_on(backend, nullptr, range).map([](const Shard&) {});
  const Place place = place_on(backend);
  DeviceMemory& pool = backends_.memory(backend);
  const auto kept = segments(range.begin, range.end);
  const bool holds_content = std::any_of(kept.begin(), kept.end(), [&](const auto& segment) {
    return (segment.places & place_bit(place)) != 0;
  });
  if (holds_content && pool.has_room(range.size())) {
    TUTTI_TRY(save_outside(place, range));
    auto memory = pool.allocate(backends_.at(backend), range.size(), *this);
    if (memory && copy_within(*there, {memory->get(), range})) {
      drop_outside(place, range);
      release_memory(backend);
      MutexLock lock(allocation_mutex_);
      keep(backend, std::move(*memory), range, range.size());
      return {};
    }
    if (memory) pool.give_back(std::move(*memory), range.size(), *this, false);
  }
  // Without room for both of them all goes by way of the host; with nothing to be copied there is
  // no need for both.
  TUTTI_TRY(evict(backend));
  return allocate_on(backend, nullptr, range).map([](const Shard&) {});
}

Status LogicalBuffer::move_shard(uint32_t backend, const ByteRange& range) {
  const Allocation* const there = allocation(backend);
  if (!there || there->bytes < range.size()) {
    TUTTI_TRY(evict(backend));
    return allocate_on(backend, nullptr, range).map([](const Shard&) {});
  }
  TUTTI_TRY(save_outside(place_on(backend), {}));
  drop_outside(place_on(backend), {});
  const uint64_t bytes = there->bytes;
  auto taken = take_memory(backend);
  MutexLock lock(allocation_mutex_);
  // Nobody else sees it any more.
  keep(backend, std::move(const_cast<Allocation&>(*taken).owned), range, bytes);
  return {};
}

void LogicalBuffer::drop_outside(Place place, const ByteRange& range) {
  MutexLock lock(mutex_);
  update_map([&](ResidencyMap& map) {
    map.drop_copy(place, {.range = {0, range.begin}});
    map.drop_copy(place, {.range = {range.end, size()}});
  });
}

Status LogicalBuffer::copy_within(const Allocation& from, const Shard& to) {
  const Place place = place_on(from.backend);
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(from.backend));
  for (const auto& segment : segments(to.range.begin, to.range.end)) {
    if (!(segment.places & place_bit(place))) continue;
    TUTTI_ASSIGN(const auto copied,
                 queue->copy(*from.shard.memory, from.shard.at(segment.begin), *to.memory,
                             to.at(segment.begin), segment.end - segment.begin, {}));
    TUTTI_TRY(copied->wait());
  }
  return {};
}

Status LogicalBuffer::evict(uint32_t backend) {
  const Place place = place_on(backend);
  TUTTI_TRY(save_outside(place, {}));
  {
    MutexLock lock(mutex_);
    update_map([&](ResidencyMap& map) { map.drop_place(place); });
  }
  release_memory(backend);
  return {};
}

void LogicalBuffer::forget(uint32_t backend) {
  {
    MutexLock lock(mutex_);
    update_map([&](ResidencyMap& map) { map.drop_place(place_on(backend)); });
  }
  release_memory(backend);
}

std::unique_ptr<const LogicalBuffer::Allocation> LogicalBuffer::take_memory(uint32_t backend) {
  MutexLock lock(allocation_mutex_);
  publish(backend, nullptr);
  const auto found = std::find_if(allocations_.begin(), allocations_.end(),
                                  [&](const auto& one) { return one->backend == backend; });
  if (found == allocations_.end()) return nullptr;
  auto taken = std::move(*found);
  allocations_.erase(found);
  memories_gone_.fetch_add(1, std::memory_order_release);
  return taken;
}

void LogicalBuffer::release_memory(uint32_t backend) {
  auto gone = take_memory(backend);
  if (gone && backend != home_) give_back(std::move(gone), false);
}

}  // namespace tutti::scheduler
