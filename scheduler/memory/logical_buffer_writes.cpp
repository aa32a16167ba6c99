// SPDX-License-Identifier: Apache-2.0
// What launches in progress write in a buffer, and what is left of it where they, or their device,
// fail.
#include <algorithm>
#include <tuple>

#include "base/guarded.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::scheduler {
void LogicalBuffer::begin_write(const void* launch, Place place, const ByteStrips& given) {
  const ByteStrips strips = widened(given);
  MutexLock lock(mutex_);
  writes_.push_back({launch, place, strips, false});
  transfer_ended_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) {
    return !transferring_locked(place, strips.range.begin, strips.range.end);
  });
}

void LogicalBuffer::end_write(const void* launch, Place place, const ByteStrips& given,
                              bool discard) {
  const ByteStrips strips = widened(given);
  MutexLock lock(mutex_);
  const auto found =
      std::find(writes_.begin(), writes_.end(), LaunchWrite{launch, place, strips, false});
  if (found == writes_.end()) return;
  writes_.erase(found);
  if (!discard) show_locked({launch, place, strips, false});
}

void LogicalBuffer::end_writes(const void* launch, bool discard) {
  MutexLock lock(mutex_);
  std::vector<LaunchWrite> ended;
  for (const LaunchWrite& write : writes_) {
    if (write.launch == launch && !write.copy) ended.push_back(write);
  }
  // Packages lie side by side: of thousands of strips each is noted once for all of a device's.
  std::sort(ended.begin(), ended.end(), [](const LaunchWrite& a, const LaunchWrite& b) {
    return std::tie(a.place, a.strips.range.begin) < std::tie(b.place, b.strips.range.begin);
  });
  std::vector<LaunchWrite> joined;
  for (const LaunchWrite& write : ended) {
    if (!joined.empty() && joined.back().place == write.place &&
        join(joined.back().strips, write.strips)) {
      continue;
    }
    joined.push_back(write);
  }
  for (const LaunchWrite& write : joined) {
    if (!discard) show_locked(write);
  }
  std::erase_if(writes_, [&](const LaunchWrite& write) { return write.launch == launch; });
}

void LogicalBuffer::show_locked(const LaunchWrite& write) {
  // A package that is computed as well elsewhere may be getting what was there before.
  for (Transfer& transfer : transfers_) {
    transfer.outdated |= !apart(write.strips, {{transfer.begin, transfer.end}});
  }
  update_map([&](ResidencyMap& map) TUTTI_REQUIRES(mutex_) {
    map.set_exclusive(write.place, write.strips);
    std::erase_if(writes_, [&](const LaunchWrite& copy) TUTTI_REQUIRES(mutex_) {
      const ByteRange& range = copy.strips.range;
      if (!copy.copy || copy.launch != write.launch || apart(write.strips, {range})) return false;
      if (!transferring_locked(kHostPlace, range.begin, range.end)) {
        map.add_copy(kHostPlace, range.begin, range.end);
      }
      return true;
    });
  });
}

Status LogicalBuffer::fetch_written(uint32_t backend, backends::Queue& queue,
                                    const ByteRange& given) {
  const ByteRange range = widened(given.begin, given.end);
  const Place from = place_on(backend);
  MutexLock lock(mutex_);
  // What is under way to the host's copy may be content from before the launch.
  transfer_ended_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) {
    return !transferring_locked(kHostPlace, range.begin, range.end);
  });
  const auto unshown = std::find_if(writes_.begin(), writes_.end(), [&](const LaunchWrite& write) {
    return write.place == from && !apart(write.strips, {range});
  });
  if (unshown == writes_.end()) {
    // Others may have fetched parts of it, and compute with them.
    lock.unlock();
    return make_valid(kHostPlace, range.begin, range.end);
  }
  const ByteRange all = unshown->strips.range;
  if (unshown->strips.strided() || range.begin < all.begin || range.end > all.end) {
    return fail(CL_INVALID_OPERATION, "a range of which a launch has shown a part only");
  }
  const LaunchWrite copy{unshown->launch, kHostPlace, {range}, true};
  if (std::find(writes_.begin(), writes_.end(), copy) != writes_.end()) return {};
  writes_.push_back(copy);
  transfers_.push_back({kHostPlace, range.begin, range.end});
  lock.unlock();
  Status status;
  const Status thrown = guarded([&] {
    status = move(from, kHostPlace, {{range.begin, range.end, 0}}, queue);
  });
  if (!thrown) status = thrown;
  lock.lock();
  const bool shown = std::find(writes_.begin(), writes_.end(), copy) == writes_.end();
  if (!status) std::erase(writes_, copy);
  if (status && shown && map_.valid_at(from, range.begin, range.end)) {
    update_map([&](ResidencyMap& map) { map.add_copy(kHostPlace, range.begin, range.end); });
  }
  transferred_locked(kHostPlace, range.begin, range.end);
  return status;
}

bool LogicalBuffer::drop_copy(Place place, const ByteStrips& given) {
  const ByteStrips strips = widened(given);
  MutexLock lock(mutex_);
  bool kept = true;
  for (const auto& segment : map_.segments(strips.range.begin, strips.range.end)) {
    if (segment.places != place_bit(place)) continue;
    strips.for_each_in(segment.begin, segment.end, [&](uint64_t, uint64_t) { kept = false; });
  }
  if (!kept) return false;
  update_map([&](ResidencyMap& map) { map.drop_copy(place, strips); });
  return true;
}

std::vector<ByteRange> LogicalBuffer::lose(uint32_t backend) {
  const Place place = place_on(backend);
  std::vector<ByteRange> lost;
  if (place == kHostPlace) return lost;
  MutexLock lock(mutex_);
  for (const auto& segment : map_.segments(0, size())) {
    if ((segment.places & place_bit(place)) == 0) continue;
    if (segment.places == place_bit(place)) {
      // It stays in the directory: who looks for it is to find that it cannot be had.
      lost.push_back({segment.begin, segment.end});
      continue;
    }
    update_map([&](ResidencyMap& map) {
      map.drop_copy(place, {.range = {segment.begin, segment.end}});
    });
  }
  return lost;
}

BackendMask LogicalBuffer::first_users() const {
  const BackendMask real = backends_.real_devices();
  return (users_ & real) != 0 ? real : users_;
}

bool LogicalBuffer::in_one_memory() const {
  return backends_.real_count() == 1 && !external_ && place_on(0) == kHostPlace;
}

const std::byte* LogicalBuffer::content_at_host(uint64_t begin, uint64_t end) const {
  if (image_ || pipe_ || home_ != kNoBackend || may_change_late()) return nullptr;
  const MutexLock lock(mutex_);
  const std::byte* const host = host_.load(std::memory_order_acquire);
  const ByteStrips range{.range = {begin, end}};
  const bool announced = std::any_of(writes_.begin(), writes_.end(), [&](const LaunchWrite& write) {
    return !apart(write.strips, range);
  });
  if (host == nullptr || announced || !map_.valid_at(kHostPlace, begin, end)) return nullptr;
  return host + begin;
}

}  // namespace tutti::scheduler
