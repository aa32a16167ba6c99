// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/logical_buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/guarded.h"
#include "base/keep_forever.h"
#include "base/process_exit.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/memory/device_transfer.h"
#include "scheduler/memory/image_boxes.h"
#include "scheduler/memory/image_transfer.h"

namespace tutti::scheduler {
namespace {

// In the map of uses, whose ranges have to be somewhere. Of so many backends the last one's place.
constexpr Place kNobody = kMostBackends;

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

ByteStrips strips_of(const SegmentRows& rows) {
  return {{rows.first.begin, rows.end()},
          static_cast<int64_t>(rows.first.begin),
          rows.pitch,
          rows.length()};
}

bool overlap(uint64_t begin_a, uint64_t end_a, uint64_t begin_b, uint64_t end_b) {
  return begin_a < end_b && begin_b < end_a;
}

}  // namespace

LogicalBuffer::LogicalBuffer(BackendSet& backends, const Options& options)
    : MemoryOwner(options.size),
      backends_(backends),
      id_(next_id()),
      user_memory_(options.user_memory != nullptr),
      shared_(options.shared),
      external_(options.external),
      home_(options.home),
      image_(options.image),
      pipe_(options.pipe),
      takers_(image_                                    ? backends.takers_of(*image_)
              : pipe_ || external_ || touched_unasked() ? backend_bit(home_)
                                                        : ~BackendMask{0}),
      users_(options.users),
      map_(options.size),
      notes_use_(backends.real_count() > 1 &&
                 (options.image || backends.memory_apart() || has_device_address())),
      use_(options.size),
      host_(static_cast<std::byte*>(options.user_memory)),
      ready_(backends.real_count()) {
  use_.set_exclusive(kNobody, 0, options.size);
}

bool LogicalBuffer::takes_memory(const BackendSet& backends, backends::SharedKind kind,
                                 uint32_t home) {
  return kind == backends::SharedKind::kBuffer ||
         (kind != backends::SharedKind::kHost && backends.place(home) != kHostPlace);
}

LogicalBuffer::~LogicalBuffer() {
  if (held_at_home_) backends_.memory(home_).let_go(size());
  const bool used_late =
      std::any_of(allocations_.begin(), allocations_.end(),
                  [&](const auto& one) { return backends_.at(one->backend).hangs(); });
  if (used_late) {
    struct Kept {
      std::vector<std::unique_ptr<const Allocation>> allocations;
      PinnedPool::Block pinned;
      std::optional<HostPages> pages;
      std::shared_ptr<backends::SharedMemory> shared;
      std::byte* host;
    };
    auto* const kept = new (std::nothrow)
        Kept{std::move(allocations_), std::move(pinned_), std::move(pages_), shared_, host_.load()};
    if (kept) {
      keep_forever(std::unique_ptr<Kept>(kept));
      return;
    }
    for (auto& one : allocations_) keep_forever(std::move(one));
    keep_forever(std::move(pinned_.memory));
    return;
  }
  // Vendors may refer to the host's memory until these are gone.
  for (auto& one : allocations_) {
    if (place_on(one->backend) == kHostPlace || one->backend == home_) continue;
    give_back(std::move(one), !image_);
  }
  allocations_.clear();
  if (pinned_) {
    backends_.pinned().give_back(std::move(pinned_));
  } else if (!user_memory_ && !pages_) {
    std::free(host_.load());
  }
}

Result<Ref<LogicalBuffer>> LogicalBuffer::create(BackendSet& backends, const Options& given) {
  Options options = given;
  if (options.shared && options.shared->kind() != backends::SharedKind::kBuffer &&
      (backends.place(options.home) == kHostPlace ||
       backends::touched_unasked(options.shared->kind()))) {
    options.user_memory = options.shared->data();
  }
  auto buffer = Ref<LogicalBuffer>::adopt(new LogicalBuffer(backends, options));
  if (options.shared && takes_memory(backends, options.shared->kind(), options.home)) {
    buffer->held_at_home_ = backends.memory(options.home).hold(options.size);
    if (!buffer->held_at_home_) {
      return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device's memory is full");
    }
  }
  if (options.host_now) TUTTI_TRY(buffer->allocate_host(UINT64_MAX, true));
  if (options.user_memory) buffer->set_exclusive(kHostPlace, 0, options.size);
  if (options.external) {
    buffer->external_allocation_ = {options.home, {options.external.get(), {0, options.size}}};
    buffer->publish(options.home, &buffer->external_allocation_);
    TUTTI_TRY(buffer->hold_at_home(true));
  }
  if (options.pipe) {
    TUTTI_TRY(buffer->device_memory(options.home).map([](auto*) {}));
    buffer->set_exclusive(buffer->place_on(options.home), 0, options.size);
  }
  return buffer;
}

Place LogicalBuffer::place_on(uint32_t backend) const {
  const bool apart = image_ || pipe_ || (backend == home_ && (has_device_address() || external_)) ||
                     (apart_.load(std::memory_order_acquire) & backend_bit(backend)) != 0;
  if (apart) return backend + 1;
  return backend == home_ && touched_unasked() ? kHostPlace : backends_.place(backend);
}

void LogicalBuffer::keep_apart(uint32_t backend) {
  MutexLock lock(allocation_mutex_);
  if (allocation(backend) || touched_unasked()) return;
  apart_.fetch_or(backend_bit(backend), std::memory_order_release);
}

bool LogicalBuffer::may_change_late() const {
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    if (!image_ && !pipe_ && backends_.may_write_late(i)) return true;
  }
  return false;
}

Result<Shard> LogicalBuffer::shard_at(Place place, const SegmentRows& rows) {
  return shard(place - 1, rows.first.begin, rows.end());
}

ByteStrips LogicalBuffer::widened(const ByteStrips& strips) const {
  return image_ ? whole_pixels(*image_, strips, size()) : strips;
}

ByteRange LogicalBuffer::widened(uint64_t begin, uint64_t end) const {
  return widened({.range = {begin, end}}).range;
}

bool LogicalBuffer::valid_at(Place place, uint64_t begin, uint64_t end) const {
  if (one_piece_.load(std::memory_order_acquire) & place_bit(place)) return true;
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  return map_.valid_at(place, range.begin, range.end);
}

PlaceSet LogicalBuffer::valid_places(uint64_t begin, uint64_t end) const {
  if (const PlaceSet all = one_piece_.load(std::memory_order_acquire)) return all;
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  return map_.valid_everywhere_in(range.begin, range.end);
}

bool LogicalBuffer::valid_only_at(Place place, uint64_t begin, uint64_t end) const {
  const PlaceSet only = place_bit(place);
  if (const PlaceSet all = one_piece_.load(std::memory_order_acquire)) return all == only;
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  const auto segments = map_.segments(range.begin, range.end);
  return std::all_of(segments.begin(), segments.end(),
                     [only](const auto& segment) { return segment.places == only; });
}

bool LogicalBuffer::undefined(uint64_t begin, uint64_t end) const {
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  return map_.undefined(range.begin, range.end);
}

ResidencyMap::Segments LogicalBuffer::segments(uint64_t begin, uint64_t end) const {
  MutexLock lock(mutex_);
  return map_.segments(begin, end);
}

void LogicalBuffer::note_use(Place place, uint64_t begin, uint64_t end) {
  if (!notes_use_ || place == kNobody) return;
  if (used_in_one_piece_.load(std::memory_order_acquire) & place_bit(place)) return;
  MutexLock lock(mutex_);
  update_use([&](ResidencyMap& use) { use.add_copy(place, begin, end); });
}

void LogicalBuffer::forget_use(uint64_t begin, uint64_t end) {
  if (!notes_use_) return;
  MutexLock lock(mutex_);
  update_use([&](ResidencyMap& use) { use.set_exclusive(kNobody, begin, end); });
}

ResidencyMap::Segments LogicalBuffer::used_segments(uint64_t begin, uint64_t end) const {
  ResidencyMap::Segments result;
  MutexLock lock(mutex_);
  for (const auto& segment : map_.segments(begin, end)) {
    if (segment.places == 0 || std::has_single_bit(segment.places)) {
      result.push_back(segment);
      continue;
    }
    // Of what was never used where it lies, the host's copy is the least likely place.
    const PlaceSet devices = segment.places & ~place_bit(kHostPlace);
    for (const auto& part : use_.segments(segment.begin, segment.end)) {
      const PlaceSet used = segment.places & part.places;
      result.push_back({part.begin, part.end, used ? used : devices});
    }
  }
  return result;
}

void LogicalBuffer::set_places(PlaceSet places, uint64_t begin, uint64_t end) {
  if (one_piece_.load(std::memory_order_acquire) == places) return;
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  update_map([&](ResidencyMap& map) { map.set_places(places, range.begin, range.end); });
}

void LogicalBuffer::add_copy(Place place, uint64_t begin, uint64_t end) {
  const ByteRange range = widened(begin, end);
  MutexLock lock(mutex_);
  update_map([&](ResidencyMap& map) { map.add_copy(place, range.begin, range.end); });
}

ResidencyMap::Segments LogicalBuffer::missing_locked(Place place, const ByteStrips& strips) const {
  ResidencyMap::Segments missing = map_.missing_at(place, strips);
  // What a launch in progress writes at this place is newer than any copy elsewhere: leave it out.
  for (const LaunchWrite& write : writes_) {
    if (missing.empty()) break;
    if (write.place != place || apart(write.strips, strips)) continue;
    ResidencyMap::Segments rest;
    for (const auto& segment : missing) {
      uint64_t kept = segment.begin;
      write.strips.for_each_in(segment.begin, segment.end, [&](uint64_t begin, uint64_t end) {
        if (kept < begin) rest.push_back({kept, begin, segment.places});
        kept = end;
      });
      if (kept < segment.end) rest.push_back({kept, segment.end, segment.places});
    }
    missing = std::move(rest);
  }
  return missing;
}

LogicalBuffer::Missing LogicalBuffer::missing(Place place, const ByteStrips& given) const {
  const ByteStrips strips = widened(given);
  Missing result;
  MutexLock lock(mutex_);
  for (const auto& segment : missing_locked(place, strips)) {
    result.bytes += segment.end - segment.begin;
    ++result.rows;
    if (segment.places & place_bit(kHostPlace)) continue;
    result.elsewhere += segment.end - segment.begin;
    ++result.rows_elsewhere;
    result.owner = first_of(segment.places);
  }
  return result;
}

bool LogicalBuffer::transferring_locked(Place place, uint64_t begin, uint64_t end) const {
  return std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& transfer) {
    return transfer.place == place && overlap(transfer.begin, transfer.end, begin, end);
  });
}

Status LogicalBuffer::make_valid(Place place, const ByteStrips& given, uint64_t* moved) {
  const ByteStrips strips = widened(given);
  PlaceSet tried = 0;  // places from where it could not be brought
  MutexLock lock(mutex_);
  for (;;) {
    const auto missing = missing_locked(place, strips);
    if (missing.empty() && !transferring_locked(place, strips.range.begin, strips.range.end)) {
      return {};
    }
    if (missing.empty()) {
      transfer_ended_.wait(mutex_);
      continue;
    }
    const SegmentRows rows = rows_of(missing).front();
    const uint64_t begin = rows.first.begin;
    const uint64_t end = rows.end();
    // A device that does one thing at a time, and hands it out already, is not asked twice.
    const bool handed_out = (rows.first.places & place_bit(kHostPlace)) == 0 &&
                            backends_.traits(first_of(rows.first.places) - 1).serial &&
                            transferring_locked(kHostPlace, begin, end);
    if (handed_out || transferring_locked(place, begin, end)) {
      transfer_ended_.wait(mutex_);
      continue;
    }
    transfers_.push_back({place, begin, end});
    lock.unlock();
    const ByteStrips moving = strips_of(rows);
    const PlaceSet untried = rows.first.places & ~tried;
    Status status;
    const Status thrown =
        guarded([&] { status = bring(untried ? untried : rows.first.places, place, rows, moved); });
    if (!thrown) status = thrown;
    lock.lock();
    const bool as_it_is = transferred_locked(place, begin, end);
    if (status && as_it_is) {
      update_map([&](ResidencyMap& map) { map.add_copy(place, moving); });
      if (moved) *moved += rows.length() * rows.count;
    }
    if (status) continue;
    // The same content may lie elsewhere, too; and a call that failed may be made again, once.
    if (vendors_gone()) return status;
    if (untried == 0) {
      lock.unlock();
      for (PlaceSet left = rows.first.places & ~place_bit(kHostPlace); left != 0;
           left &= left - 1) {
        static_cast<void>(backends_.health().confirm(first_of(left) - 1, status.error()));
      }
      return status;
    }
    tried |= place_bit(source_of(untried));
  }
}

Place LogicalBuffer::source_of(PlaceSet places) {
  return places & place_bit(kHostPlace) ? kHostPlace : first_of(places);
}

Status LogicalBuffer::bring(PlaceSet sources, Place place, const SegmentRows& rows,
                            uint64_t* moved) {
  const uint64_t begin = rows.first.begin;
  const uint64_t end = rows.end();
  // Device to device goes by way of the host (facts: the vendors' own path is slower).
  const bool between = place != kHostPlace && !(sources & place_bit(kHostPlace));
  if (!between) return move(source_of(sources), place, rows);
  // With two devices nobody else would look for it in the host's copy; with more they may, but
  // to allocate and pin that takes longer than to move it.
  const bool passed_on = backends_.count() == 2 ||
                         (rows.length() > kTransferBlock && !host_.load(std::memory_order_acquire));
  if (rows.count == 1 && passed_on) return move_staged(first_of(sources), place, begin, end, moved);
  if (!image_ && rows.count == 1 && rows.length() > kTransferBlock) {
    return move_in_blocks(place, begin, end, moved);
  }
  TUTTI_TRY(make_valid(kHostPlace, strips_of(rows), moved));
  return move(kHostPlace, place, rows);
}

Status LogicalBuffer::bring_out(Place from, Place to, const ByteStrips& given) {
  const ByteStrips strips = widened(given);
  ResidencyMap::Segments only_there;
  {
    MutexLock lock(mutex_);
    transfer_ended_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) {
      return !transferring_locked(to, strips.range.begin, strips.range.end);
    });
    for (const auto& segment : missing_locked(to, strips)) {
      if (segment.places == place_bit(from)) only_there.push_back(segment);
    }
  }
  for (const SegmentRows& rows : rows_of(only_there)) {
    TUTTI_TRY(make_valid(kHostPlace, strips_of(rows)));
  }
  return {};
}

bool LogicalBuffer::transferred_locked(Place place, uint64_t begin, uint64_t end) {
  const auto ended =
      std::find_if(transfers_.begin(), transfers_.end(), [&](const Transfer& transfer) {
        return transfer.place == place && transfer.begin == begin && transfer.end == end;
      });
  const bool outdated = ended->outdated;
  transfers_.erase(ended);
  transfer_ended_.notify_all();
  return !outdated;
}

Status LogicalBuffer::define(PlaceSet places, uint64_t begin, uint64_t end) {
  const ByteRange range = widened(begin, end);
  for (const auto& segment : segments(range.begin, range.end)) {
    if (segment.places != 0) continue;
    Status failure;
    PlaceSet defined = 0;
    // An image's copies get it from the host's, as any other content.
    for (PlaceSet left = image_ ? place_bit(kHostPlace) : places; left != 0; left &= left - 1) {
      const Place place = first_of(left);
      if (Status filled = fill_with_zeros(place, segment.begin, segment.end); filled) {
        defined |= place_bit(place);
      } else {
        failure = std::move(filled);
      }
    }
    if (defined == 0) return failure;
    set_places(defined, segment.begin, segment.end);
  }
  return {};
}

Status LogicalBuffer::fill_with_zeros(Place place, uint64_t begin, uint64_t end) {
  if (place == kHostPlace) {
    TUTTI_ASSIGN(std::byte * host, host_memory(end - begin));
    std::memset(host + begin, 0, end - begin);
    return {};
  }
  TUTTI_ASSIGN(const Shard there, shard(place - 1, begin, end));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(place - 1));
  // The longest pattern of a power of two that begins and ends there.
  constexpr std::array<std::byte, 16> kZeros{};
  const size_t pattern = size_t{1} << std::countr_zero(begin | end | kZeros.size());
  TUTTI_ASSIGN(const auto filled, queue->fill(*there.memory, there.at(begin), end - begin,
                                              std::span(kZeros).first(pattern), {}));
  return filled->wait();
}

Status LogicalBuffer::move(Place from, Place to, const SegmentRows& rows) {
  const Place device = from == kHostPlace ? to : from;
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(device - 1));
  const TransferTimer timer(backends_, device - 1);
  const Status moved = move(from, to, rows, *queue);
  backends_.health().note(device - 1, moved);
  TUTTI_TRY(moved);
  if (image_) return {};
  timer.ended(from == kHostPlace ? kToDevice : kFromDevice, rows.length() * rows.count, rows.count);
  return {};
}

Status LogicalBuffer::move(Place from, Place to, const SegmentRows& rows, backends::Queue& queue) {
  TUTTI_ASSIGN(std::byte * host, host_memory(rows.length() * rows.count));
  TUTTI_ASSIGN(const Shard there, shard_at(from == kHostPlace ? to : from, rows));
  if (image_) return move_image_rows(queue, *there.memory, from == kHostPlace, *image_, rows, host);
  std::byte* at = host + rows.first.begin;
  const auto where = there.rows(rows);
  StagedTransfers& transfers = backends_.transfers();
  return from == kHostPlace ? transfers.write_rows(to - 1, queue, *there.memory, where, at)
                            : transfers.read_rows(from - 1, queue, *there.memory, where, at);
}

Status LogicalBuffer::move_staged(Place from, Place to, uint64_t begin, uint64_t end,
                                  uint64_t* moved) {
  TUTTI_ASSIGN(const Shard source, shard(from - 1, begin, end));
  TUTTI_ASSIGN(const Shard target, shard(to - 1, begin, end));
  const Status brought =
      move_between(backends_, {from - 1, source}, {to - 1, target}, image(), {begin, end});
  if (!brought) {  // whichever has failed
    for (const Place place : {from, to})
      backends_.health().note_failure(place - 1, brought.error());
    return brought;
  }
  if (moved) *moved += end - begin;  // out; the caller counts the way in
  return {};
}

Status LogicalBuffer::move_in_blocks(Place to, uint64_t begin, uint64_t end, uint64_t* moved) {
  TUTTI_ASSIGN(std::byte * host, host_memory(end - begin));
  TUTTI_ASSIGN(const Shard there, shard(to - 1, begin, end));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(to - 1));
  backends::CompletionPtr newest;
  Status status;
  for (uint64_t at = begin; status && at < end; at += kTransferBlock) {
    const uint64_t size = std::min(kTransferBlock, end - at);
    // While this block leaves the one device, the one before it enters the other. Who else needs
    // it finds it in the host's copy.
    status = make_valid(kHostPlace, at, at + size, moved);
    if (!status) break;
    auto sent = queue->write(*there.memory, there.at(at), size, host + at, {});
    if (sent) {
      newest = std::move(*sent);
      status = queue->flush();
    } else {
      status = tl::unexpected<Error>(std::move(sent).error());
    }
  }
  // The queue is in-order. Also after a failure: the host's copy is read until then.
  if (newest) {
    Status ended = newest->wait();
    if (status) status = std::move(ended);
  }
  return status;
}

}  // namespace tutti::scheduler
