// SPDX-License-Identifier: Apache-2.0
// A buffer, image or pipe as the scheduler sees it: the host's copy, one vendor allocation per
// device that uses it (made at first use) with all of it or a range, and the directory that says
// where each byte range is valid. Sub-buffers are BufferViews on their parent. An image is
// addressed like a buffer, by the bytes of its host's copy; ranges of pixels move as boxes
// (image_boxes.h). A pipe is one range of its home device's, which never moves. Reference counted;
// thread-safe: its own lock guards the directory, and is never held while a vendor is called.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/api/backend.h"
#include "base/host_pages.h"
#include "base/ref_counted.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/devices/per_backend.h"
#include "scheduler/devices/pinned_pool.h"
#include "scheduler/memory/expected_ends.h"
#include "scheduler/memory/failed_ranges.h"
#include "scheduler/memory/residency_map.h"
#include "scheduler/memory/segment_rows.h"
#include "scheduler/memory/shard.h"

namespace tutti::scheduler {

class BackendSet;
struct Node;

/// A command in flight and what it does to a range of a buffer.
struct RangeUse {
  Node* command = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writes = false;   // for the order between commands
  bool changes = false;  // it is new afterwards
  bool needed = false;   // as it was before
  bool partly = false;   // it changes with bytes in between that do not
  bool hidden = false;   // the application does not know of all of it
  // Of a late package (CommandLog::hold_late), which reads here whatever it does.
  bool late = false;
  uint32_t late_on = kNoBackend;  // late, in the memory of this device alone
};

/// Whether two uses of the same memory must keep their order: they share a byte that one writes.
/// RangeUse, BufferUse or HostUse.
template <typename A, typename B>
bool keep_order(const A& a, const B& b) {
  return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

class LogicalBuffer : public MemoryOwner {
 public:
  struct Options {
    uint64_t size = 0;            // bytes, > 0
    void* user_memory = nullptr;  // CL_MEM_USE_HOST_PTR: the host's copy is this memory
    bool host_now = false;        // CL_MEM_ALLOC_HOST_PTR: allocate the host's copy at once
    std::optional<backends::ImageShape> image{};  // size is its span() then
    /// Shared memory of this size: the copy of the device `home`, which gave it.
    std::shared_ptr<backends::SharedMemory> shared{};
    /// A pipe of the device `home`, made at once; size is its span() then.
    std::optional<backends::PipeShape> pipe{};
    /// Memory of this size, or image, that the device `home` has imported: its copy.
    std::shared_ptr<backends::Memory> external{};
    uint32_t home = kNoBackend;
    BackendMask users = ~BackendMask{0};  // where it can be used, as far as its maker says
  };
  /// CL_MEM_OBJECT_ALLOCATION_FAILURE / CL_OUT_OF_HOST_MEMORY when memory is lacking.
  static Result<Ref<LogicalBuffer>> create(BackendSet& backends, const Options& options);
  ~LogicalBuffer();

  uint64_t id() const { return id_; }  // unique in the process, never 0
  /// Null for all else.
  const backends::ImageShape* image() const { return image_ ? &*image_ : nullptr; }
  bool is_pipe() const { return pipe_.has_value(); }
  /// "buffer", "image" or "pipe".
  const char* kind_name() const { return image_ ? "image" : pipe_ ? "pipe" : "buffer"; }
  /// Where kernels can use it, as far as formats and sizes of images decide that, and pipes' homes.
  BackendMask takers() const { return takers_; }
  /// Who may be given what the application writes to it first: the real devices, or else those
  /// that alone can use it.
  BackendMask first_users() const;
  /// Where the copy of this device lies. Images and pipes have vendors' own layouts, also on
  /// devices that share the host's memory.
  Place place_on(uint32_t backend) const;
  /// A device that shares the host's memory gets memory of its own for this buffer, where it has
  /// been given none yet.
  void keep_apart(uint32_t backend) TUTTI_EXCLUDES(allocation_mutex_);

  /// Shared memory: `shared()` is the memory on the device `home()`, and the host's copy where that
  /// computes in the host's memory, or where the host may touch it unasked. Else null; a pipe and
  /// external memory have a home as well, all else kNoBackend.
  bool is_shared() const { return shared_ != nullptr; }
  backends::SharedMemory* shared() const { return shared_.get(); }
  uint32_t home() const { return home_; }
  /// Its home has memory of its own, which the host sees only by way of MapSharedWork.
  bool shared_apart() const {
    return is_shared() && shared_->kind() == backends::SharedKind::kVirtual &&
           place_on(home_) != kHostPlace;
  }
  /// What the host writes there nobody hears of: no copy lies anywhere but in the host's place,
  /// which is its home's, too.
  bool touched_unasked() const { return is_shared() && backends::touched_unasked(shared_->kind()); }
  /// Whether shared memory of that kind takes some of its home's memory of its own.
  static bool takes_memory(const BackendSet& backends, backends::SharedKind kind, uint32_t home);
  /// A buffer whose address on its home stays. It has a place of its own there, whatever memory the
  /// home computes in.
  bool has_device_address() const {
    return is_shared() && shared_->kind() == backends::SharedKind::kBuffer;
  }

  /// Memory that another interface has made. It has a place of its own on its home, whatever memory
  /// that computes in, and never leaves it. Null for all else.
  const std::shared_ptr<backends::Memory>& external() const { return external_; }
  /// It was the other interface's, or is to be: all of it is valid on its home, and there alone.
  /// `renewed`: what is there now is new.
  Status hold_at_home(bool renewed) {
    const Place place = place_on(home_);
    if (!renewed) TUTTI_TRY(make_valid(place, 0, size()));
    set_exclusive(place, 0, size());
    return {};
  }

  /// There is one device only, and it computes in this buffer's copy in the host's memory.
  bool in_one_memory() const;

  /// The host's copy: allocated at first use, page-aligned unless it is the user's, pinned where it
  /// is large and a device gains by that; never moves. `wanted`: the bytes that it is needed for.
  /// Pinning touches everything, which a small part of a very large buffer is not worth.
  Result<std::byte*> host_memory(uint64_t wanted = UINT64_MAX);
  /// The vendor allocation on `backend` for all of the buffer, made at first use.
  /// CL_MEM_OBJECT_ALLOCATION_FAILURE where the device has a range of it only.
  Result<backends::Memory*> device_memory(uint32_t backend) {
    return shard(backend, 0, size()).map([](const Shard& all) { return all.memory; });
  }
  /// The same where [begin, end) is what is needed; of images and pipes all is there.
  Result<Shard> shard(uint32_t backend, uint64_t begin, uint64_t end);
  bool has_memory(uint32_t backend) const { return allocation(backend) != nullptr; }
  /// What the device uses for it is there already: its home's, or the host's copy. The vendor's
  /// object for that is made at first use.
  bool takes_no_memory(uint32_t backend) const {
    return backend == home_ || place_on(backend) == kHostPlace;
  }
  /// Whether the device's memory has the range; also where it has none of the buffer yet.
  bool has_room_for(uint32_t backend, uint64_t begin, uint64_t end) const {
    const ByteRange there = shard_range(backend);
    if (there.empty()) return begin >= end || !has_memory(backend);
    return Shard{nullptr, there}.holds(begin, end);
  }
  /// The bytes that the device has memory for; empty: none, or it changes right now. Anybody may
  /// ask, also who does not keep the memory from being given back.
  ByteRange shard_range(uint32_t backend) const {
    const Published* const there = ready_.find(backend);
    if (!there) return {};
    const uint64_t end = there->end.load(std::memory_order_acquire);
    const uint64_t begin = there->begin.load(std::memory_order_acquire);
    const bool same = there->end.load(std::memory_order_acquire) == end;
    return same && begin < end ? ByteRange{begin, end} : ByteRange{};
  }
  /// How much memory that takes: more than the range, where it was for a longer one (move_shard).
  /// Of who keeps the memory from being given back.
  uint64_t shard_memory(uint32_t backend) const {
    const Allocation* const there = allocation(backend);
    return there ? there->bytes : 0;
  }
  /// The memory on `backend`, which has a place of its own, is for this range from now on. What is
  /// valid there stays so within the range; what is valid there alone goes to the host's copy first
  /// where the range, or the device, has no room for it. Nobody else may use the buffer meanwhile.
  Status reshape(uint32_t backend, const ByteRange& range);
  /// The same where little of it is in both ranges: by way of the host's copy, and in the memory
  /// that is there, where that is large enough.
  Status move_shard(uint32_t backend, const ByteRange& range);
  /// What is valid on the device alone is valid in the host's copy afterwards, too.
  Status bring_to_host(uint32_t backend) { return save_outside(place_on(backend), {}); }
  /// What the device's memory for the buffer has room for, whatever range it is for; for who keeps
  /// it from being given back.
  uint64_t allocated_bytes(uint32_t backend) const {
    const Allocation* const there = allocation(backend);
    return there ? there->bytes : 0;
  }
  /// How often memory on devices was given back: what was made from it is of no use any more.
  uint32_t memories_gone() const { return memories_gone_.load(std::memory_order_acquire); }
  /// The host's copy is the application's own memory.
  bool in_user_memory() const { return user_memory_; }
  /// What lies in the range, in the host's copy; null where it may not be all there, or may change
  /// by what a launch in progress writes. For who keeps others from writing it.
  const std::byte* content_at_host(uint64_t begin, uint64_t end) const;
  /// A device that hangs may still write in the host's copy.
  bool may_change_late() const;
  /// Gives the memory on `backend` back, which has a place of its own. What is valid nowhere else
  /// goes to the host's copy first. Nobody else may use the buffer meanwhile.
  Status evict(uint32_t backend);
  /// The same of memory in a context that was lost: what is valid there alone is gone with it.
  void forget(uint32_t backend);

  /// Is every byte of the range that has content valid at `place`?
  bool valid_at(Place place, uint64_t begin, uint64_t end) const;
  /// Where all of it is valid. Parts may be valid elsewhere, too.
  PlaceSet valid_places(uint64_t begin, uint64_t end) const;
  /// Whether all of it is valid at `place`, and no part of it anywhere else.
  bool valid_only_at(Place place, uint64_t begin, uint64_t end) const;
  bool undefined(uint64_t begin, uint64_t end) const;
  ResidencyMap::Segments segments(uint64_t begin, uint64_t end) const;
  /// A device computes with the range at `place`.
  void note_use(Place place, uint64_t begin, uint64_t end);
  /// segments() with those places only where devices use them, if there are such: data may only
  /// have come by in the host's copy, and new data were put where they might be used.
  ResidencyMap::Segments used_segments(uint64_t begin, uint64_t end) const;
  /// New content has been put where the old one was used: where it is used will be seen.
  void forget_use(uint64_t begin, uint64_t end);
  /// What make_valid() would have to move: all of it, in ranges that lie apart, and how much of
  /// that is not in the host's copy, but at `owner`.
  struct Missing {
    uint64_t bytes = 0, rows = 0;
    uint64_t elsewhere = 0, rows_elsewhere = 0;
    Place owner = kHostPlace;
  };
  Missing missing(Place place, const ByteStrips& strips) const;
  void set_exclusive(Place place, uint64_t begin, uint64_t end) {
    set_places(place_bit(place), begin, end);
  }
  /// The range was written at these places, at least one, and is the same there.
  void set_places(PlaceSet places, uint64_t begin, uint64_t end);
  void add_copy(Place place, uint64_t begin, uint64_t end);

  /// Makes [begin, end) valid at `place` by moving the missing ranges, and waits for them. What a
  /// launch in progress writes at `place` is left alone: it is newer than any copy elsewhere.
  /// Two threads that need the same range share one transfer. `moved` adds up the bytes.
  Status make_valid(Place place, const ByteStrips& strips, uint64_t* moved = nullptr);
  Status make_valid(Place place, uint64_t begin, uint64_t end, uint64_t* moved = nullptr) {
    return make_valid(place, ByteStrips{.range = {begin, end}}, moved);
  }

  /// What `to` lacks of the strips and `from` alone has goes to the host's copy, where it is found
  /// without asking `from`. Waits for it, and for what is under way to `to`.
  Status bring_out(Place from, Place to, const ByteStrips& strips);

  /// What has no content yet in the range gets one, the same everywhere, and is valid at those of
  /// `places` where there is memory for it. A failure when there is none. Nobody else may use the
  /// range meanwhile.
  Status define(PlaceSet places, uint64_t begin, uint64_t end);

  /// Brings what a launch in progress has written on `backend`, which has a place of its own, to
  /// the host's copy, and waits for it. Where the launch has not shown it yet (end_write), it comes
  /// through `queue`, nothing older comes there any more, and it is valid there once it is shown.
  Status fetch_written(uint32_t backend, backends::Queue& queue, const ByteRange& range);

  /// `launch` (any address that names it) is about to write the strips at `place`. Until
  /// end_writes() no transfer to `place` touches them; returns when none that might is under way.
  void begin_write(const void* launch, Place place, const ByteStrips& strips);
  /// These strips, which begin_write announced, are written: they become exclusive at the place.
  /// With `discard`, they are not.
  void end_write(const void* launch, Place place, const ByteStrips& strips, bool discard = false);
  /// The launch has ended: what begin_write announced becomes exclusive at its place. With
  /// `discard`, the directory stays as it was.
  void end_writes(const void* launch, bool discard = false);

  /// A launch that failed may have written the strips at `place`, which end_write() has discarded:
  /// they are valid there no more. False, and nothing has changed, where some of them are valid
  /// nowhere else.
  bool drop_copy(Place place, const ByteStrips& strips);
  /// The memory on `backend` is lost, unless it is the host's: what is valid there alone, and
  /// cannot be had.
  std::vector<ByteRange> lose(uint32_t backend);

  /// Let go of after the memory: its deleter runs when nothing uses the memory any more, the user's
  /// included. Set by the maker before anybody else sees this object.
  std::shared_ptr<void> owner;

  // Ranges that started commands use: guarded by the engine's lock, not by this object's.
  std::vector<RangeUse> uses;
  uint64_t last_use = 0;  // a count of uses; likewise
  FailedRanges failed;    // likewise
  /// When launches that write here are expected to end.
  ExpectedEnds written;
  /// Bytes that the application has read since the last launch that writes here began. It will read
  /// as many of the next one's.
  std::atomic<uint64_t> read_back{0};
  void note_read(uint64_t bytes) { read_back.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  struct Transfer {
    Place place;
    uint64_t begin, end;
    bool outdated = false;  // what it brings has new content meanwhile
  };
  struct LaunchWrite {
    const void* launch;
    Place place;
    ByteStrips strips;
    bool copy;  // in the host's copy, of what the launch has written elsewhere (fetch_written)
    bool operator==(const LaunchWrite&) const = default;
  };

  LogicalBuffer(BackendSet& backends, const Options& options);
  /// `for_application`: it has asked for such memory (CL_MEM_ALLOC_HOST_PTR).
  Status allocate_host(uint64_t wanted, bool for_application = false);
  struct Allocation {
    uint32_t backend = 0;
    Shard shard;
    std::unique_ptr<backends::Memory> owned{};  // shard.memory, unless that is another object's
    uint64_t bytes = 0;                         // of the memory, at least those of the range
  };
  /// What is read without a lock. The allocation itself only by who keeps it from being given back.
  struct Published {
    std::atomic<const Allocation*> allocation{nullptr};
    std::atomic<uint64_t> begin{0}, end{0};  // its range; end 0: none, or it changes
  };
  const Allocation* allocation(uint32_t backend) const {
    const Published* const ready = ready_.find(backend);
    return ready ? ready->allocation.load(std::memory_order_acquire) : nullptr;
  }
  /// Null: there is none any more. One thread at a time.
  void publish(uint32_t backend, const Allocation* allocation) {
    Published& ready = ready_[backend];
    ready.end.store(0, std::memory_order_release);
    ready.begin.store(allocation ? allocation->shard.range.begin : 0, std::memory_order_release);
    ready.allocation.store(allocation, std::memory_order_release);
    if (allocation) ready.end.store(allocation->shard.range.end, std::memory_order_release);
  }
  /// `host`: the memory that it shall be; null: its own.
  Result<Shard> allocate_on(uint32_t backend, void* host, const ByteRange& range);
  /// The device's memory, of so many bytes, for the range, from now on.
  Shard keep(uint32_t backend, std::unique_ptr<backends::Memory> memory, const ByteRange& range,
             uint64_t bytes) TUTTI_REQUIRES(allocation_mutex_);
  /// To the host's copy goes what is valid at this place alone, and lies outside of the range.
  Status save_outside(Place place, const ByteRange& range);
  /// From one of the places that hold the rows to one that does not; waits for it.
  Status bring(PlaceSet sources, Place place, const SegmentRows& rows, uint64_t* moved);
  static Place source_of(PlaceSet places);
  Status move(Place from, Place to, const SegmentRows& rows);
  Status move(Place from, Place to, const SegmentRows& rows, backends::Queue& queue);
  /// From one device to another, past the host's copy.
  Status move_staged(Place from, Place to, uint64_t begin, uint64_t end, uint64_t* moved);
  /// To a device, from wherever the range is valid, by way of the host's copy and in both
  /// directions at once.
  Status move_in_blocks(Place to, uint64_t begin, uint64_t end, uint64_t* moved);
  Result<Shard> shard_at(Place place, const SegmentRows& rows);
  /// Nothing lies at the place but in the range.
  void drop_outside(Place place, const ByteRange& range) TUTTI_EXCLUDES(mutex_);
  std::unique_ptr<const Allocation> take_memory(uint32_t backend) TUTTI_EXCLUDES(allocation_mutex_);
  void release_memory(uint32_t backend) TUTTI_EXCLUDES(allocation_mutex_);
  void give_back(std::unique_ptr<const Allocation> allocation, bool keep);
  /// What is valid there of the other range, in the memory of the same device; waits for it.
  Status copy_within(const Allocation& from, const Shard& to);
  Status fill_with_zeros(Place place, uint64_t begin, uint64_t end);
  /// Ranges of an image are whole pixels.
  ByteStrips widened(const ByteStrips& strips) const;
  ByteRange widened(uint64_t begin, uint64_t end) const;
  /// Changes the map: change(map_).
  template <typename Change>
  void update_map(Change&& change) TUTTI_REQUIRES(mutex_) {
    change(map_);
    one_piece_.store(map_.in_one_piece(), std::memory_order_release);
  }
  template <typename Change>
  void update_use(Change&& change) TUTTI_REQUIRES(mutex_) {
    change(use_);
    used_in_one_piece_.store(use_.in_one_piece(), std::memory_order_release);
  }
  ResidencyMap::Segments missing_locked(Place place, const ByteStrips& strips) const
      TUTTI_REQUIRES(mutex_);
  /// What a launch has written is exclusive at its place from now on, and in the host's copy where
  /// it has been fetched.
  void show_locked(const LaunchWrite& write) TUTTI_REQUIRES(mutex_);
  bool transferring_locked(Place place, uint64_t begin, uint64_t end) const TUTTI_REQUIRES(mutex_);
  /// The transfer has ended. False: it is outdated.
  bool transferred_locked(Place place, uint64_t begin, uint64_t end) TUTTI_REQUIRES(mutex_);

  BackendSet& backends_;
  const uint64_t id_;
  const bool user_memory_;
  const std::shared_ptr<backends::SharedMemory> shared_;
  const std::shared_ptr<backends::Memory> external_;
  const uint32_t home_;
  bool held_at_home_ = false;  // changed by create() only
  const std::optional<backends::ImageShape> image_;
  const std::optional<backends::PipeShape> pipe_;
  const BackendMask takers_;
  const BackendMask users_;
  mutable Mutex mutex_;
  ConditionVariable transfer_ended_;
  ResidencyMap map_ TUTTI_GUARDED_BY(mutex_);
  // map_.in_one_piece(), for those who ask without the lock: each small launch does, several times.
  std::atomic<PlaceSet> one_piece_{0};
  // Where devices have used which ranges: they are "valid" there. Only with several places.
  const bool notes_use_;
  ResidencyMap use_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<PlaceSet> used_in_one_piece_{0};                // of use_, as one_piece_ is of map_
  std::vector<Transfer> transfers_ TUTTI_GUARDED_BY(mutex_);  // under way
  std::vector<LaunchWrite> writes_ TUTTI_GUARDED_BY(mutex_);  // announced by begin_write
  // The host's copy, where it is pinned, or at least large.
  PinnedPool::Block pinned_;
  std::optional<HostPages> pages_;
  Mutex allocation_mutex_;  // one allocation at a time; held while the vendor allocates
  std::atomic<std::byte*> host_{nullptr};
  std::atomic<BackendMask> apart_{0};  // devices that would use the host's copy, but may not
  std::vector<std::unique_ptr<const Allocation>> allocations_ TUTTI_GUARDED_BY(allocation_mutex_);
  Allocation external_allocation_;  // changed by create() only
  PerBackend<Published> ready_;     // the same by backend
  std::atomic<uint32_t> memories_gone_{0};
};

/// A window on a buffer: the whole of it, or a sub-buffer.
struct BufferView {
  Ref<LogicalBuffer> buffer;
  uint64_t origin = 0;  // bytes from the buffer's begin
  uint64_t size = 0;
};

}  // namespace tutti::scheduler
