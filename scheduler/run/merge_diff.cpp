// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/merge_diff.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

namespace tutti::scheduler {
namespace {

PlaceSet places_of(const LogicalBuffer& buffer, const std::vector<uint32_t>& backends) {
  PlaceSet places = 0;
  for (const uint32_t backend : backends) places |= place_bit(buffer.place_on(backend));
  return places;
}

}  // namespace

DiffMerge::DiffMerge(MergeParts parts, const MergeRegion& region, const BufferView& view,
                     std::vector<uint32_t> participants)
    : parts_(parts),
      unit_(region.unit),
      alone_(region.alone),
      buffer_(view.buffer),
      participants_(std::move(participants)),
      region_(region.range),
      range_(region.range),
      places_(places_of(*buffer_, participants_)),
      one_place_(std::has_single_bit(places_)) {
  range_.begin -= range_.begin % BlockCompare::kAlignment;
}

// What lies before the region belongs to others, who may be writing it: it is compared, no more.
Status DiffMerge::distribute() {
  if (distributed_) return {};
  if (!one_place_) {
    // Each copy of what has no content yet would differ by itself, and a change to what one of them
    // happens to hold would be none.
    TUTTI_TRY(buffer_->define(places_, region_.begin, region_.end));
  }
  // A device that fails to get the content fails in its own prepare().
  for (const uint32_t backend : participants_) {
    static_cast<void>(buffer_->make_valid(buffer_->place_on(backend), region_.begin, region_.end));
  }
  distributed_ = true;
  return {};
}

Status DiffMerge::prepare(uint32_t backend, backends::Queue& queue,
                          std::vector<backends::Argument>& /*arguments*/) {
  MutexLock lock(mutex_);
  if (Copy* known = copy_on(backend)) {  // it does what others could not do
    known->compared = false;
    return {};
  }
  TUTTI_TRY(distribute());
  const Place place = buffer_->place_on(backend);
  if (!buffer_->valid_at(place, region_.begin, region_.end)) {
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the content of a buffer could not be moved");
  }
  if (place == kHostPlace) {
    if (alone_ && !one_place_ && !host_takes_part_) {
      TUTTI_ASSIGN(const std::byte* host, buffer_->host_memory());
      host_before_.assign(host + region_.begin, host + region_.end);
    }
    host_takes_part_ = true;
    return {};
  }
  lock.unlock();
  Copy copy{backend, nullptr, nullptr, {}};
  TUTTI_ASSIGN(copy.now, buffer_->device_memory(backend));
  if (!one_place_) {
    TUTTI_ASSIGN(copy.before, parts_.backends.at(backend).allocate(range_.size(), nullptr));
    TUTTI_ASSIGN(const auto copied,
                 queue.copy(*copy.now, range_.begin, *copy.before, 0, range_.size(), {}));
    TUTTI_TRY(copied->wait());  // else changes would be looked for in what was there
  }
  lock.lock();
  copies_.push_back(std::move(copy));
  return {};
}

DiffMerge::Copy* DiffMerge::copy_on(uint32_t backend) {
  const auto found = std::find_if(copies_.begin(), copies_.end(),
                                  [&](const Copy& copy) { return copy.backend == backend; });
  return found == copies_.end() ? nullptr : &*found;
}

void DiffMerge::look(uint32_t backend) {
  if (one_place_) return;
  Copy* copy = nullptr;
  {
    MutexLock lock(mutex_);
    copy = copy_on(backend);
    if (!copy || copy->compared) return;
  }
  auto changed = changes_of(*copy);
  if (!changed) return;  // find_changes() will fail likewise
  MutexLock lock(mutex_);
  copy->changed = std::move(*changed);
  copy->compared = true;
}

Status DiffMerge::finish(bool success) {
  MutexLock lock(mutex_);
  if (copies_.empty() && !host_takes_part_) return {};
  if (!success || (copies_.size() + (host_takes_part_ ? 1 : 0)) == 1) {
    const Place place = host_takes_part_ ? kHostPlace : buffer_->place_on(copies_.front().backend);
    buffer_->set_exclusive(place, region_.begin, region_.end);
    return {};
  }
  TUTTI_TRY(find_changes());
  return host_takes_part_ ? merge_into_host() : merge_blocks();
}

Result<PlaceSet> DiffMerge::changed_alone() {
  MutexLock lock(mutex_);
  PlaceSet places = 0;
  if (!alone_ || one_place_) return places;
  TUTTI_TRY(find_changes());
  for (const Copy& copy : copies_) {
    if (!copy.changed.empty()) places |= place_bit(buffer_->place_on(copy.backend));
  }
  if (host_takes_part_) {
    TUTTI_ASSIGN(const std::byte* host, buffer_->host_memory());
    const bool same = std::equal(host_before_.begin(), host_before_.end(), host + region_.begin);
    if (!same) places |= place_bit(kHostPlace);
  }
  return places;
}

void DiffMerge::keep_only(Place place) {
  MutexLock lock(mutex_);
  std::erase_if(copies_,
                [&](const Copy& copy) { return buffer_->place_on(copy.backend) != place; });
  if (place != kHostPlace) host_takes_part_ = false;
}

std::optional<uint32_t> DiffMerge::unreachable() {
  MutexLock lock(mutex_);
  if (copies_.size() + (host_takes_part_ ? 1 : 0) < 2) return std::nullopt;
  for (Copy& copy : copies_) {
    if (!find_changes(copy)) return copy.backend;
  }
  return std::nullopt;
}

bool DiffMerge::drop(uint32_t backend, bool unread) {
  const Place place = buffer_->place_on(backend);
  if (place == kHostPlace) return unread && !alone_;  // it wrote into what all others start from
  MutexLock lock(mutex_);
  const auto copied =
      std::erase_if(copies_, [&](const Copy& copy) { return copy.backend == backend; });
  return copied == 0 || buffer_->drop_copy(place, {.range = region_});
}

Result<std::vector<ByteRange>> DiffMerge::changes_of(const Copy& copy) {
  TUTTI_ASSIGN(auto changed, parts_.compare.changed(copy.backend, *copy.now, range_.begin,
                                                    *copy.before, range_.size()));
  // What lies beside the region is for others to see to.
  for (ByteRange& part : changed) {
    part = {std::max(part.begin, region_.begin), std::min(part.end, region_.end)};
  }
  std::erase_if(changed, [](const ByteRange& part) { return part.empty(); });
  return changed;
}

Status DiffMerge::find_changes(Copy& copy) {
  if (copy.compared) return {};
  TUTTI_ASSIGN(copy.changed, changes_of(copy));
  copy.compared = true;
  return {};
}

Status DiffMerge::find_changes() {
  for (Copy& copy : copies_) TUTTI_TRY(find_changes(copy));
  return {};
}

Status DiffMerge::take_over(const Copy& copy, const ByteRange& part) {
  TUTTI_ASSIGN(std::byte * host, buffer_->host_memory());
  TUTTI_ASSIGN(backends::Queue * queue, parts_.backends.transfer_queue(copy.backend));
  std::vector<std::byte> now(part.size()), before(part.size());
  TUTTI_TRY(queue->read_blocking(*copy.now, part.begin, part.size(), now.data()));
  TUTTI_TRY(
      queue->read_blocking(*copy.before, part.begin - range_.begin, part.size(), before.data()));
  // Elements lie at multiples of the unit in the buffer, and so do parts, except at its end.
  for (size_t at = 0; at < now.size(); at += unit_) {
    const size_t size = std::min<size_t>(unit_, now.size() - at);
    if (std::memcmp(now.data() + at, before.data() + at, size) != 0) {
      std::memcpy(host + part.begin + at, now.data() + at, size);
    }
  }
  return {};
}

Status DiffMerge::merge_into_host() {
  for (const Copy& copy : copies_) {
    for (const ByteRange& part : copy.changed) TUTTI_TRY(take_over(copy, part));
  }
  buffer_->set_exclusive(kHostPlace, region_.begin, region_.end);
  return {};
}

Status DiffMerge::merge_blocks() {
  // Where the changes of different devices begin and end: between two such borders all is alike.
  std::map<uint64_t, std::vector<const Copy*>> borders;
  for (const Copy& copy : copies_) {
    for (const ByteRange& part : copy.changed) borders[part.begin], borders[part.end];
  }
  for (const Copy& copy : copies_) {
    for (const ByteRange& part : copy.changed) {
      const auto end = borders.find(part.end);
      for (auto at = borders.find(part.begin); at != end; ++at) at->second.push_back(&copy);
    }
  }
  for (auto at = borders.begin(); at != borders.end(); ++at) {
    const std::vector<const Copy*>& changers = at->second;
    if (changers.empty()) continue;
    const ByteRange part{at->first, std::next(at)->first};
    if (changers.size() == 1) {
      buffer_->set_exclusive(buffer_->place_on(changers.front()->backend), part.begin, part.end);
      continue;
    }
    TUTTI_ASSIGN(std::byte * host, buffer_->host_memory());
    TUTTI_ASSIGN(backends::Queue * queue,
                 parts_.backends.transfer_queue(changers.front()->backend));
    TUTTI_TRY(
        queue->read_blocking(*changers.front()->now, part.begin, part.size(), host + part.begin));
    for (size_t i = 1; i < changers.size(); ++i) TUTTI_TRY(take_over(*changers[i], part));
    buffer_->set_exclusive(kHostPlace, part.begin, part.end);
  }
  return {};
}

}  // namespace tutti::scheduler
