// SPDX-License-Identifier: Apache-2.0
// Executes one started command in the calling thread and waits for it: the conducted path's
// transfers and whole kernels, and everything blocking. Knows where data lie; the caller holds the
// ranges.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/order/command_log.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {

class Executor {
 public:
  /// Of buffers larger than `divided_from` devices are going to have parts, where they can: first
  /// content waits in the host's copy until it is known which.
  explicit Executor(BackendSet& backends, uint64_t divided_from = UINT64_MAX)
      : backends_(backends), divided_from_(divided_from) {}

  /// Every kind of work but kernels. Where the device on which it is best done has no room for a
  /// buffer, that is done in the host's copy.
  Status execute(const Work& work);
  /// A read of what lies not in `there`: ranges of the buffer, apart and ascending.
  Status read_rest(const ReadWork& work, std::span<const ByteRange> there);
  /// The same by rectangles; of an image. Of a buffer those are in the host's copy.
  Status read_rest(const RectWork& work, std::span<const ByteRange> there);
  /// A write or fill of a buffer: nobody needs what was there.
  static bool overwrites(const Work& work) {
    return std::holds_alternative<WriteWork>(work) || std::holds_alternative<FillWork>(work);
  }
  /// A transfer that may be carried out once more after it has failed: it reads nothing that it
  /// writes.
  static bool repeatable(const Work& work) {
    return overwrites(work) || std::holds_alternative<ReadWork>(work) ||
           std::holds_alternative<CopyWork>(work) || std::holds_alternative<RectWork>(work);
  }
  /// What such a work replaces counts as valid in the host's copy alone, so that execute() puts the
  /// new content there.
  static void overwrite_at_host(const Work& work);
  /// The memory without which the work cannot be done: of images that only a device fills.
  MemoryNeeds needs_of(const Work& work) const;
  /// A kernel that uses `uses`, whole on one device; `ran` gets its times. `launched`: the vendor
  /// has taken it, so that it may have run where it fails.
  Status execute_kernel(const KernelWork& work, std::span<const BufferUse> uses,
                        backends::Queue& queue, uint32_t backend, PackageRecord& ran,
                        bool& launched);

  /// Where a transfer that reads this range is best done: a place that holds all of it (the host
  /// first), or kHostPlace when no place does.
  Place preferred_place(LogicalBuffer& buffer, uint64_t begin, uint64_t end) const;
  /// The one place where new content of this range is best put: where the old one was used, or
  /// where it may be. Absent when those are several.
  std::optional<Place> place_of_write(LogicalBuffer& buffer, uint64_t begin, uint64_t end) const;
  /// Where a copy is best made: where its source lies, the host's copy first; or, of a small one,
  /// where one device alone uses what it replaces, so that the source goes there once.
  Place place_of_copy(const CopyWork& work) const;
  /// The content that a new buffer or image begins with, in the layout of its host's copy. It is
  /// free to change when this returns.
  Status begin_with(const Ref<LogicalBuffer>& buffer, const void* content);

 private:
  Status run(const ReadWork& work) { return read_rest(work, {}); }
  Status run(const WriteWork& work);
  Status run(const CopyWork& work);
  Status run(const FillWork& work);
  Status run(const RectWork& work);
  Status run(const CopyRectWork& work);
  Status run(const FillImageWork& work);
  Status run(const MapWork& work);
  Status run(const UnmapWork& work);
  Status run(const MapSharedWork& work);
  Status run(const MarkerWork&) { return {}; }
  Status run(const HostWork& work);
  Status run(const KernelWork&) { return fail(CL_INVALID_OPERATION, "a kernel needs a plan"); }
  /// The parts of RectWork and CopyRectWork that vendors' image commands do; false: nothing was
  /// done, go by way of the host's copy.
  Result<bool> transfer_image(const RectWork& work);
  Result<bool> copy_images(const CopyRectWork& work);
  /// Where the image is, or else on the first device that can have it.
  uint32_t device_of(const FillImageWork& work) const;
  Status fill_image_on(const FillImageWork& work, uint32_t backend);
  Status fill_buffer_image(const FillImageWork& work, uint32_t backend);
  Status pixel_of(const FillImageWork& work, uint32_t backend, std::byte* pixel);
  /// How what lies in the host's copy, which begins at `copy`, and on devices comes to or from the
  /// application's memory.
  struct Ways {
    std::function<void(std::byte* copy, const ResidencyMap::Segment& segment)> host;
    std::function<Status(uint32_t backend, backends::Queue&, const Shard&, const SegmentRows&)>
        device;
    bool everywhere = false;  // costs no more in many places than in one
  };
  static Ways ways_of_pixels(const RectWork& work);
  /// The ranges, ascending, from wherever they are, all places at once.
  Status gather(LogicalBuffer& buffer, std::span<const ByteRange> ranges, const Ways& ways);
  /// Of or to one device, all of it.
  Status move_rows(LogicalBuffer& buffer, uint32_t backend,
                   std::span<const ResidencyMap::Segment> segments, const Ways& ways,
                   uint64_t* bytes = nullptr);
  /// By way of the host's copy.
  Status gather_at_host(LogicalBuffer& buffer, std::span<const ResidencyMap::Segment> segments,
                        const Ways& ways);
  Status copy_on(uint32_t backend, const CopyWork& work);
  /// Puts new content to where the old one was used, or where it may be, all at once.
  Status put(LogicalBuffer& buffer, const ByteRange& range, const Ways& ways);
  Status put_at_host(LogicalBuffer& buffer, const ByteRange& range, const Ways& ways);
  /// Where the first content of a buffer may be wanted: where there is room for it now.
  PlaceSet places_of_first(LogicalBuffer& buffer) const;
  /// Divides a segment that is first content among its places, where that is worth it.
  void divide_first(const LogicalBuffer& buffer, const ResidencyMap::Segment& segment,
                    ResidencyMap::Segments& parts) const;
  /// Devices' own memory where nothing new may come, since a late package may use what is there.
  PlaceSet late_places(const LogicalBuffer& buffer) const;
  /// The others of `places`; where there are none, though there were some, the host's copy.
  PlaceSet without_late(const LogicalBuffer& buffer, PlaceSet places) const;
  /// Those places where the buffer has memory now; else the host's copy.
  PlaceSet allocate_some(LogicalBuffer& buffer, PlaceSet places, const ByteRange& range) const;

  BackendSet& backends_;
  const uint64_t divided_from_;  // bytes
};

}  // namespace tutti::scheduler
