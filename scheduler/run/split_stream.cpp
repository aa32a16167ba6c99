// SPDX-License-Identifier: Apache-2.0
// Participants that have memory for a window of the launch at a time: their shards move through the
// buffers with their packages, and what those have written leaves behind them.
#include <algorithm>

#include "base/clock.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/plan/shard_ranges.h"
#include "scheduler/run/split_run.h"
#include "scheduler/run/split_seat.h"

namespace tutti::scheduler {
namespace {

// While one package computes, the next one's data come and the last one's results leave. Of a
// launch whose results are prefetched, that many are a share.
constexpr uint64_t kPackagesPerWindow = 4;

bool holds(const BufferRanges& ranges, uint32_t backend) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const auto& one) {
    return one.first->has_room_for(backend, one.second.begin, one.second.end);
  });
}

}  // namespace

uint64_t SplitRun::most_at_once(size_t participant) const {
  // What passes through panels anew for each package shall do so seldom.
  if (plan_.has_panels(backend(participant))) return plan_.windows[participant];
  if (streams(participant)) {
    return std::max<uint64_t>(1, plan_.windows[participant] / kPackagesPerWindow);
  }
  if (!parts_.prefetch || !parts_.prefetch->divides()) return UINT64_MAX;
  const uint64_t share =
      plan_.shares.empty() ? slices_ / participants() : plan_.shares[participant];
  return std::max({uint64_t{1}, parts_.rounds[participant], share / kPackagesPerWindow});
}

BufferRanges SplitRun::window_ranges(size_t participant, const Range& slices) const {
  BufferRanges buffers;
  for (const BufferShard& shard : plan_.shards[participant]) buffers.try_emplace(shard.buffer);
  return touched_ranges(work_, plan_, buffers, slices, plan_.shard_unit);
}

std::optional<SplitRun::Range> SplitRun::into_window(size_t participant, Seat& seat, Range range) {
  if (!streams(participant)) return range;
  const bool downwards =
      seat.newest.count > 0 ? range.first < seat.newest.first : plan_.downwards[participant] != 0;
  if (const uint64_t held = most_held(participant, range, downwards); held > 0) {
    shorten(participant, range, held, downwards);
  } else if (!seat.in_flight.empty()) {  // which use the memory
    MutexLock lock(mutex_);
    pending_[participant] = range;
    return std::nullopt;
  } else if (Status moved = move_window(participant, seat, range, downwards); !moved) {
    parts_.backends.health().note_failure(seat.backend, moved.error());
    give_back(participant, range, std::move(moved).error());
    return std::nullopt;
  }
  seat.newest = range;
  return range;
}

uint64_t SplitRun::most_held(size_t participant, const Range& range, bool downwards) const {
  const auto held = [&](const Range& some) {
    return plan_.panels_for(some.count) &&
           holds(window_ranges(participant, some), backend(participant));
  };
  if (held(range)) return range.count;
  // All panels come for the rest once more, which costs as much for few slices as for many.
  if (plan_.has_panels(backend(participant)) && !plan_.panels_move_with_slices()) return 0;
  return most_of(range, range.count - 1, downwards, held);
}

void SplitRun::shorten(size_t participant, Range& range, uint64_t count, bool downwards) {
  if (count == range.count) return;
  const Range all = range;
  range = part_of(all, count, downwards);
  const Range rest = part_of(all, all.count - count, !downwards);
  MutexLock lock(mutex_);
  Range& pending = pending_[participant];
  if (pending.count > 0) {  // shortened before, so that it lies beside that
    pending = {std::min(pending.first, rest.first), pending.count + rest.count};
    return;
  }
  pending = rest;
  ++starting_;
  ++taking_[participant];
}

Status SplitRun::move_window(size_t participant, Seat& seat, Range& range, bool downwards) {
  const TransferCause cause("the device has another part of the buffer", number(),
                            kernel_name(work_));
  DeviceMemory& memory = parts_.backends.memory(seat.backend);
  if (!plan_.panels_for(range.count)) {
    shorten(participant, range, plan_.windows[participant], downwards);
  }
  for (uint64_t most = plan_.windows[participant];;) {
    const Range window = window_around(range, most, downwards, slices_);
    const auto wanted = window_ranges(participant, window);
    uint64_t more = 0;
    for (const auto& [buffer, part] : wanted) {
      const uint64_t there = buffer->allocated_bytes(seat.backend);
      if (!buffer->has_room_for(seat.backend, part.begin, part.end) && part.size() > there) {
        more += part.size() - there;
      }
    }
    if (memory.has_room(more)) {
      Status made;
      for (const auto& [buffer, part] : wanted) {
        if (!made || buffer->has_room_for(seat.backend, part.begin, part.end)) continue;
        const uint64_t began_ns = now_ns();
        const ByteRange moved = stretched(part, buffer->allocated_bytes(seat.backend),
                                          plan_.shard_unit, buffer->size());
        made = buffer->move_shard(seat.backend, moved);
        if (seat.panels) seat.panels->moved(*buffer);
        if (made) memory.history().reshaped(moved.size(), began_ns);
      }
      if (made) return set_arguments(participant, seat);
      if (made.error().code != CL_MEM_OBJECT_ALLOCATION_FAILURE) return made;
      // Others have taken the room in between.
    }
    if (window.count > range.count) {
      most = range.count;
      continue;
    }
    if (range.count == 1) {
      return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE,
                  "the device has no room for what one slice of the launch touches");
    }
    most = range.count / 2;
    shorten(participant, range, most, downwards);
  }
}

void SplitRun::bring_home(size_t participant, const Range& range) {
  if (!streams(participant)) return;
  const TransferCause cause("streamed back", number(), kernel_name(work_));
  for (const PackageUse& use : uses_of(backend(participant), range)) {
    if (use.write.empty() || use.place == kHostPlace) continue;
    // What fails is tried again when the memory moves on, and fails the launch then.
    static_cast<void>(use.buffer->make_valid(kHostPlace, use.write));
  }
}

}  // namespace tutti::scheduler
