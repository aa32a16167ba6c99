// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/executor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <tuple>

#include "base/all_at_once.h"
#include "base/clock.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/run/image_rect.h"

namespace tutti::scheduler {

Status Executor::execute(const Work& work) {
  return std::visit([this](const auto& kind) { return run(kind); }, work);
}

Status Executor::execute_kernel(const KernelWork& work, std::span<const BufferUse> uses,
                                backends::Queue& queue, uint32_t backend, PackageRecord& ran,
                                bool& launched) {
  const TransferCause* outer = TransferCause::current();
  for (const BufferUse& use : uses) {
    const TransferCause cause("used by a kernel", outer ? outer->command() : 0, kernel_name(work),
                              argument_name(work, use.argument));
    const Place place = use.buffer->place_on(backend);
    if (use.needed) TUTTI_TRY(use.buffer->make_valid(place, use.begin, use.end));
  }
  note_used(uses, backend);
  VendorLaunch vendor;
  TUTTI_TRY(prepare_whole(work, backends_.traits(backend), backend, vendor));
  const backends::Launch& launch = vendor.launch;
  const uint64_t items = launch.global[0] * launch.global[1] * launch.global[2];
  std::optional<Computing> computing(std::in_place, backends_, backend);
  const uint64_t start = now_ns();
  TUTTI_ASSIGN(backends::CompletionPtr completion, queue.launch(launch, {}));
  launched = true;
  TUTTI_TRY(completion->wait());
  const uint64_t end = now_ns();
  computing.reset();
  const auto times = completion->times();
  const double seconds = times && times->ended > times->started
                             ? seconds_between(times->started, times->ended)
                             : seconds_between(start, end);
  std::tie(ran.start_ns, ran.end_ns) =
      measured_interval(times, start, end).value_or(std::pair(start, end));
  backends_.note_whole(model_key(work), backend, items, seconds, work.kernel->summary().name);
  note_changes(uses, backend);
  return {};
}

// Content smaller than this is put into the host's copy at once: a transfer to each device that
// used the old one would take longer than a later fetch.
constexpr uint64_t kWorthScattering = 256 << 10;
constexpr uint64_t kFillAtOnce = 16 << 10;  // bytes; a multiple of every pattern
// First content of so many bytes per device is divided among them: what a device lacks then comes
// from the others five times as fast as from the application.
constexpr uint64_t kWorthDividing = 1 << 20;
constexpr uint64_t kDividedAt = 4096;

PlaceSet Executor::places_of_first(LogicalBuffer& buffer) const {
  const BackendMask users = buffer.first_users();
  const bool several = !std::has_single_bit(users);
  if (several && buffer.size() > divided_from_ && !buffer.image()) return place_bit(kHostPlace);
  double host = 0;  // what computes in the host's copy
  for (BackendMask left = users; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(left));
    if (buffer.place_on(i) == kHostPlace) host += backends_.traits(i).nominal_gflops;
  }
  PlaceSet places = 0;
  for (BackendMask left = users; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(left));
    const backends::DeviceTraits& traits = backends_.traits(i);
    if (buffer.place_on(i) == kHostPlace) continue;
    // Several get all of it in the time of one (docs/platform-notes.md), and sooner than the host's
    // copy.
    const bool likely = traits.pins_host_memory && traits.nominal_gflops >= host;
    const bool room = buffer.has_memory(i) ? buffer.has_room_for(i, 0, buffer.size())
                                           : buffer.size() <= traits.max_allocation &&
                                                 backends_.memory(i).has_room(buffer.size());
    const BackendMask away = backends_.health().lost() | backends_.health().late();
    const bool lost = (away & backend_bit(i)) != 0;
    if (!room || (several && (lost || !likely || backends_.slow_link(i)))) continue;
    places |= place_bit(buffer.place_on(i));
  }
  return places ? places : place_bit(kHostPlace);
}

PlaceSet Executor::late_places(const LogicalBuffer& buffer) const {
  PlaceSet late = 0;
  for (BackendMask left = backends_.health().late(); left != 0; left &= left - 1) {
    late |= place_bit(buffer.place_on(static_cast<uint32_t>(std::countr_zero(left))));
  }
  return late & ~place_bit(kHostPlace);
}

PlaceSet Executor::without_late(const LogicalBuffer& buffer, PlaceSet places) const {
  const PlaceSet rest = places & ~late_places(buffer);
  return rest != 0 || places == 0 ? rest : place_bit(kHostPlace);
}

PlaceSet Executor::allocate_some(LogicalBuffer& buffer, PlaceSet places,
                                 const ByteRange& range) const {
  for (BackendMask left = buffer.first_users(); left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(left));
    const PlaceSet place = place_bit(buffer.place_on(i));
    if (place != place_bit(kHostPlace) && (places & place) != 0 &&
        !buffer.shard(i, range.begin, range.end)) {
      places &= ~place;
    }
  }
  return places ? places : place_bit(kHostPlace);
}

void Executor::divide_first(const LogicalBuffer& buffer, const ResidencyMap::Segment& segment,
                            ResidencyMap::Segments& parts) const {
  const auto places = static_cast<uint64_t>(std::popcount(segment.places));
  if (places == 1 || buffer.size() < places * kWorthDividing) {
    parts.push_back(segment);
    return;
  }
  double all = 0;
  for (uint32_t i = 0; i < backends_.real_count(); ++i) {
    if (segment.places & place_bit(buffer.place_on(i))) all += backends_.traits(i).nominal_gflops;
  }
  // Of the whole buffer, which may be written bit by bit.
  const uint64_t unit = buffer.image() ? buffer.image()->second_pitch() : kDividedAt;
  double share = 0;
  uint64_t begin = 0;
  PlaceSet left = segment.places;
  for (uint32_t i = 0; left != 0; ++i) {
    const PlaceSet place = place_bit(buffer.place_on(i));
    if (!(left & place)) continue;
    left &= ~place;
    share += backends_.traits(i).nominal_gflops / all;
    const auto units = static_cast<uint64_t>(share * static_cast<double>(buffer.size() / unit));
    const uint64_t end = left ? units * unit : buffer.size();
    const ByteRange part{std::max(begin, segment.begin), std::min(end, segment.end)};
    if (!part.empty()) parts.push_back({part.begin, part.end, place});
    begin = end;
  }
}

Place Executor::preferred_place(LogicalBuffer& buffer, uint64_t begin, uint64_t end) const {
  if (buffer.undefined(begin, end)) {
    // Nobody has it yet. With one device it will be wanted there; with several the host's copy
    // serves all.
    return backends_.real_count() == 1 ? first_of(places_of_first(buffer)) : kHostPlace;
  }
  // A late device's queue gets to it when the package before it has ended.
  const PlaceSet places = without_late(buffer, buffer.valid_places(begin, end));
  if (places == 0 || places & place_bit(kHostPlace)) return kHostPlace;
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    if (places & place_bit(buffer.place_on(i))) return buffer.place_on(i);
  }
  return kHostPlace;
}

std::optional<Place> Executor::place_of_write(LogicalBuffer& buffer, uint64_t begin,
                                              uint64_t end) const {
  if (end - begin < kWorthScattering) {
    // What one device alone uses need not come by way of the host's copy.
    const auto used = buffer.used_segments(begin, end);
    const bool one = used.size() == 1 && std::has_single_bit(used.front().places);
    return one ? first_of(without_late(buffer, used.front().places))
               : preferred_place(buffer, begin, end);
  }
  std::optional<Place> place;
  for (const auto& segment : buffer.used_segments(begin, end)) {
    const PlaceSet places =
        segment.places ? without_late(buffer, segment.places) : places_of_first(buffer);
    const Place one = first_of(places);
    if (!std::has_single_bit(places) || (place && *place != one)) return std::nullopt;
    place = one;
  }
  return place;
}

Place Executor::place_of_copy(const CopyWork& work) const {
  LogicalBuffer& from = *work.from.buffer;
  const uint64_t from_begin = work.from.origin + work.from_offset;
  const uint64_t from_end = from_begin + work.size;
  if (from.touched_unasked() || work.to.buffer->touched_unasked()) return kHostPlace;
  const Place lies = preferred_place(from, from_begin, from_end);
  if (lies != kHostPlace || work.size >= kWorthScattering) return lies;
  const uint64_t to_begin = work.to.origin + work.to_offset;
  const auto used = work.to.buffer->used_segments(to_begin, to_begin + work.size);
  if (used.size() != 1 || !std::has_single_bit(used.front().places)) return lies;
  const Place wanted = first_of(without_late(*work.to.buffer, used.front().places));
  if (wanted == kHostPlace) return lies;
  // A large buffer is not allocated on another device for a little of it.
  return from.size() < kWorthScattering || from.valid_at(wanted, from_begin, from_end) ? wanted
                                                                                       : lies;
}

namespace {

/// What lies not in `there`: ranges that lie apart, ascending.
std::vector<ByteRange> without(const ByteRange& all, std::span<const ByteRange> there) {
  std::vector<ByteRange> rest;
  uint64_t at = all.begin;
  for (const ByteRange& range : there) {
    if (range.begin > at) rest.push_back({at, range.begin});
    at = std::max(at, range.end);
  }
  if (at < all.end) rest.push_back({at, all.end});
  return rest;
}

/// One transfer of every place, all at once.
Status transfer_all(std::vector<std::function<Status()>> transfers) {
  const TransferCause* const asked = TransferCause::current();
  for (size_t i = 1; i < transfers.size(); ++i) {
    transfers[i] = [asked, transfer = std::move(transfers[i])] {
      const TransferCause cause(asked);
      return transfer();
    };
  }
  return all_at_once("tutti-transfer", transfers);
}

}  // namespace

Status Executor::gather(LogicalBuffer& buffer, std::span<const ByteRange> ranges,
                        const Ways& ways) {
  std::vector<ResidencyMap::Segments> by_device;  // what the host's copy lacks
  ResidencyMap::Segments segments;
  for (const ByteRange& range : ranges) {
    auto some = buffer.segments(range.begin, range.end);
    if (segments.empty()) {
      segments = std::move(some);
    } else {
      segments.insert(segments.end(), some.begin(), some.end());
    }
  }
  for (const auto& segment : segments) {
    if (segment.places == 0) continue;  // never written: whatever the application gets is right
    if (segment.places & place_bit(kHostPlace)) {
      TUTTI_ASSIGN(std::byte * host, buffer.host_memory());
      ways.host(host, segment);
      continue;
    }
    for (uint32_t i = 0; i < backends_.count(); ++i) {
      const Place place = buffer.place_on(i);
      if (!(segment.places & place_bit(place))) continue;
      by_device.resize(backends_.count());
      by_device[i].push_back({segment.begin, segment.end, place_bit(place)});
      break;
    }
  }
  std::vector<std::function<Status()>> transfers;
  for (uint32_t i = 0; i < by_device.size(); ++i) {
    if (by_device[i].empty()) continue;
    transfers.emplace_back([&, i]() -> Status {
      const Status moved = move_rows(buffer, i, by_device[i], ways);
      // It may lie elsewhere, too; and what a call has failed to read, another one may.
      return moved ? moved : gather_at_host(buffer, by_device[i], ways);
    });
  }
  return transfer_all(transfers);
}

Status Executor::move_rows(LogicalBuffer& buffer, uint32_t backend,
                           std::span<const ResidencyMap::Segment> segments, const Ways& ways,
                           uint64_t* bytes) {
  const auto move = [&]() -> Status {
    TUTTI_ASSIGN(const Shard there,
                 buffer.shard(backend, segments.front().begin, segments.back().end));
    TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend));
    for (const SegmentRows& rows : rows_of({segments.begin(), segments.end()})) {
      TUTTI_TRY(ways.device(backend, *queue, there, rows));
      if (bytes) *bytes += rows.length() * rows.count;
    }
    return {};
  };
  Status moved = move();
  backends_.health().note(backend, moved);
  return moved;
}

Status Executor::gather_at_host(LogicalBuffer& buffer,
                                std::span<const ResidencyMap::Segment> segments, const Ways& ways) {
  for (const ResidencyMap::Segment& segment : segments) {
    TUTTI_TRY(buffer.make_valid(kHostPlace, segment.begin, segment.end));
    TUTTI_ASSIGN(std::byte * host, buffer.host_memory());
    ways.host(host, segment);
  }
  return {};
}

Status Executor::put_at_host(LogicalBuffer& buffer, const ByteRange& range, const Ways& ways) {
  TUTTI_ASSIGN(std::byte * host, buffer.host_memory(range.size()));
  ways.host(host, {range.begin, range.end, place_bit(kHostPlace)});
  buffer.set_exclusive(kHostPlace, range.begin, range.end);
  return {};
}

Status Executor::put(LogicalBuffer& buffer, const ByteRange& range, const Ways& ways) {
  const auto single = place_of_write(buffer, range.begin, range.end);
  if (single == kHostPlace) return put_at_host(buffer, range, ways);
  ResidencyMap::Segments segments;
  PlaceSet first = 0;
  for (auto& segment : single ? ResidencyMap::Segments{{range.begin, range.end, place_bit(*single)}}
                              : buffer.used_segments(range.begin, range.end)) {
    if (segment.places != 0) {
      segments.push_back({segment.begin, segment.end,
                          allocate_some(buffer, without_late(buffer, segment.places),
                                        {segment.begin, segment.end})});
      continue;
    }
    if (!first) first = allocate_some(buffer, places_of_first(buffer), range);
    segment.places = first;
    if (ways.everywhere) {
      segments.push_back(segment);
    } else {
      divide_first(buffer, segment, segments);
    }
  }
  std::vector<ResidencyMap::Segments> by_place(backends_.count() + 1);
  for (const auto& segment : segments) {
    for (Place place = 0; place < by_place.size(); ++place) {
      if (segment.places & place_bit(place)) {
        by_place[place].push_back({segment.begin, segment.end, place_bit(place)});
      }
    }
  }
  std::vector<std::function<Status()>> transfers;
  for (Place place = 0; place < by_place.size(); ++place) {
    if (by_place[place].empty()) continue;
    transfers.emplace_back([&, place]() -> Status {
      if (place == kHostPlace) {
        TUTTI_ASSIGN(std::byte * host, buffer.host_memory(range.size()));
        for (const auto& segment : by_place[place]) ways.host(host, segment);
        return {};
      }
      const uint64_t began = now_ns();
      uint64_t bytes = 0;
      TUTTI_TRY(move_rows(buffer, place - 1, by_place[place], ways, &bytes));
      if (!ways.everywhere) backends_.note_write(place - 1, bytes, began);
      return {};
    });
  }
  // Where a device does not take it, the host's copy does.
  if (!transfer_all(transfers)) return put_at_host(buffer, range, ways);
  if (!single) buffer.forget_use(range.begin, range.end);
  for (const auto& segment : segments) {
    buffer.set_places(segment.places, segment.begin, segment.end);
  }
  return {};
}

Status Executor::read_rest(const ReadWork& work, std::span<const ByteRange> there) {
  work.from.buffer->note_read(work.size);
  const uint64_t begin = work.from.origin + work.offset;
  auto* const to = static_cast<std::byte*>(work.to);
  const Ways ways{
      [&](std::byte* copy, const ResidencyMap::Segment& segment) {
        std::memcpy(to + (segment.begin - begin), copy + segment.begin,
                    segment.end - segment.begin);
      },
      [&](uint32_t backend, backends::Queue& queue, const Shard& shard, const SegmentRows& rows) {
        return backends_.transfers().read_rows(backend, queue, *shard.memory, shard.rows(rows),
                                               to + (rows.first.begin - begin));
      }};
  return gather(*work.from.buffer, without({begin, begin + work.size}, there), ways);
}

void Executor::overwrite_at_host(const Work& work) {
  const auto place = [](const BufferView& view, uint64_t offset, uint64_t size) {
    view.buffer->set_exclusive(kHostPlace, view.origin + offset, view.origin + offset + size);
  };
  if (const auto* write = std::get_if<WriteWork>(&work)) {
    place(write->to, write->offset, write->size);
  } else if (const auto* fill = std::get_if<FillWork>(&work)) {
    place(fill->to, fill->offset, fill->size);
  }
}

Status Executor::run(const WriteWork& work) {
  LogicalBuffer& buffer = *work.to.buffer;
  const uint64_t begin = work.to.origin + work.offset;
  const uint64_t end = begin + work.size;
  const auto* const from = static_cast<const std::byte*>(work.from);
  const Ways ways{
      [&](std::byte* copy, const ResidencyMap::Segment& segment) {
        std::memmove(copy + segment.begin, from + (segment.begin - begin),
                     segment.end - segment.begin);
      },
      [&](uint32_t backend, backends::Queue& queue, const Shard& there, const SegmentRows& rows) {
        return backends_.transfers().write_rows(backend, queue, *there.memory, there.rows(rows),
                                                from + (rows.first.begin - begin));
      }};
  return put(buffer, {begin, end}, ways);
}

Status Executor::begin_with(const Ref<LogicalBuffer>& buffer, const void* content) {
  const TransferCause cause("copied when it was made", 0);
  const BufferView all{buffer, 0, buffer->size()};
  if (buffer->size() < kWorthScattering) buffer->set_exclusive(kHostPlace, 0, buffer->size());
  if (const backends::ImageShape* shape = buffer->image()) {
    const backends::Rect rect{{0, 0, 0}, shape->second_pitch(), shape->slice_pitch};
    const auto& extent = shape->extent;
    return run(RectWork{true,
                        all,
                        rect,
                        rect,
                        {extent[0] * shape->pixel_size, extent[1], extent[2]},
                        const_cast<void*>(content)});
  }
  return run(WriteWork{all, 0, buffer->size(), content});
}

Status Executor::run(const CopyWork& work) {
  LogicalBuffer& from = *work.from.buffer;
  LogicalBuffer& to = *work.to.buffer;
  const uint64_t from_begin = work.from.origin + work.from_offset;
  const uint64_t to_begin = work.to.origin + work.to_offset;
  const Place place = place_of_copy(work);
  // Where the device has no room for one of them, or fails, the host has.
  if (place != kHostPlace && from.make_valid(place, from_begin, from_begin + work.size) &&
      copy_on(place - 1, work)) {
    from.note_use(place, from_begin, from_begin + work.size);
    to.set_exclusive(place, to_begin, to_begin + work.size);
    return {};
  }
  TUTTI_TRY(from.make_valid(kHostPlace, from_begin, from_begin + work.size));
  TUTTI_ASSIGN(std::byte * from_host, from.host_memory(work.size));
  TUTTI_ASSIGN(std::byte * to_host, to.host_memory(work.size));
  std::memmove(to_host + to_begin, from_host + from_begin, work.size);
  to.set_exclusive(kHostPlace, to_begin, to_begin + work.size);
  return {};
}

Status Executor::copy_on(uint32_t backend, const CopyWork& work) {
  const uint64_t source = work.from.origin + work.from_offset;
  const uint64_t target = work.to.origin + work.to_offset;
  TUTTI_ASSIGN(const Shard to, work.to.buffer->shard(backend, target, target + work.size));
  TUTTI_ASSIGN(const Shard from, work.from.buffer->shard(backend, source, source + work.size));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend));
  const auto copied =
      queue->copy(*from.memory, from.at(source), *to.memory, to.at(target), work.size, {});
  Status ended = copied ? (*copied)->wait() : tl::unexpected<Error>(copied.error());
  backends_.health().note(backend, ended);
  return ended;
}

Status Executor::run(const FillWork& work) {
  LogicalBuffer& buffer = *work.to.buffer;
  const uint64_t begin = work.to.origin + work.offset;
  const uint64_t end = begin + work.size;
  const auto pattern = std::span(work.pattern).first(work.pattern_size);
  // In whole patterns: what lies around the given bytes becomes the same, wherever that is done.
  const auto widened = [&](uint64_t from, uint64_t to) {
    from -= (from - begin) % work.pattern_size;
    return ByteRange{from, to + (end - to) % work.pattern_size};
  };
  const Ways ways{
      [&](std::byte* copy, const ResidencyMap::Segment& segment) {
        const ByteRange range = widened(segment.begin, segment.end);
        std::memcpy(copy + range.begin, pattern.data(), pattern.size());
        // What is there already, up to what stays in the cache, once more.
        for (uint64_t done = pattern.size(); done < range.size();) {
          const uint64_t size = std::min({done, range.size() - done, kFillAtOnce});
          std::memcpy(copy + range.begin + done, copy + range.begin, size);
          done += size;
        }
      },
      [&](uint32_t, backends::Queue& queue, const Shard& there, const SegmentRows& rows) -> Status {
        const ByteRange range = widened(rows.first.begin, rows.end());
        if (!there.holds(range.begin, range.end)) {
          return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "a pattern goes beyond a shard's end");
        }
        TUTTI_ASSIGN(auto completion,
                     queue.fill(*there.memory, there.at(range.begin), range.size(), pattern, {}));
        return completion->wait();
      },
      true};
  return put(buffer, {begin, end}, ways);
}

Status Executor::read_rest(const RectWork& work, std::span<const ByteRange> there) {
  LogicalBuffer& buffer = *work.view.buffer;
  if (!buffer.image()) {
    for (const ByteRange& range : there) buffer.add_copy(kHostPlace, range.begin, range.end);
    return run(work);
  }
  buffer.note_read(work.bytes());
  const auto [begin, end] = rect_span(work.buffer_rect, work.region);
  return gather(buffer, without({begin, end}, there), ways_of_pixels(work));
}

Executor::Ways Executor::ways_of_pixels(const RectWork& work) {
  return {[&work](std::byte* copy, const ResidencyMap::Segment& segment) {
            copy_pixels(copy, work, segment.begin, segment.end);
          },
          [&work](uint32_t, backends::Queue& queue, const Shard& there, const SegmentRows& rows) {
            return move_pixels(queue, *there.memory, work, rows);
          }};
}

Status Executor::run(const RectWork& work) {
  LogicalBuffer& buffer = *work.view.buffer;
  const auto [first, last] = rect_span(work.buffer_rect, work.region);
  // Of all bytes from the first to the last, and not to go to where the image is as a whole.
  if (work.write && buffer.image() && last - first == work.bytes() &&
      place_of_write(buffer, first, last) != preferred_place(buffer, first, last)) {
    return put(buffer, {first, last}, ways_of_pixels(work));
  }
  // Where the device fails: as of an image that lies in the host's copy.
  if (transfer_image(work).value_or(false)) return {};
  if (!work.write && buffer.image()) return read_rest(work, {});
  const uint64_t begin = work.view.origin + first;
  const uint64_t end = work.view.origin + last;
  // A write, too, needs the bytes between its rows, where there are some: the spanned range becomes
  // the host's.
  const bool all = work.write && last - first == work.bytes();
  if (!all) TUTTI_TRY(buffer.make_valid(kHostPlace, begin, end));
  TUTTI_ASSIGN(std::byte * host, buffer.host_memory());
  std::byte* window = host + work.view.origin;
  auto* application = static_cast<std::byte*>(work.host);
  if (work.write) {
    copy_rect(window, work.buffer_rect, application, work.host_rect, work.region);
    buffer.set_exclusive(kHostPlace, begin, end);
  } else {
    buffer.note_read(work.bytes());
    copy_rect(application, work.host_rect, window, work.buffer_rect, work.region);
  }
  return {};
}

Status Executor::run(const CopyRectWork& work) {
  if (copy_images(work).value_or(false)) return {};
  LogicalBuffer& from = *work.from.buffer;
  LogicalBuffer& to = *work.to.buffer;
  const auto [from_first, from_last] = rect_span(work.from_rect, work.region);
  const auto [to_first, to_last] = rect_span(work.to_rect, work.region);
  const uint64_t to_begin = work.to.origin + to_first;
  const uint64_t to_end = work.to.origin + to_last;
  TUTTI_TRY(
      from.make_valid(kHostPlace, work.from.origin + from_first, work.from.origin + from_last));
  TUTTI_TRY(to.make_valid(kHostPlace, to_begin, to_end));
  TUTTI_ASSIGN(std::byte * from_host, from.host_memory());
  TUTTI_ASSIGN(std::byte * to_host, to.host_memory());
  copy_rect(to_host + work.to.origin, work.to_rect, from_host + work.from.origin, work.from_rect,
            work.region);
  to.set_exclusive(kHostPlace, to_begin, to_end);
  return {};
}

}  // namespace tutti::scheduler
