// SPDX-License-Identifier: Apache-2.0
// The memory of one device: what buffers have allocated there and who they are, so that somebody
// can make room; and allocations that nobody uses, kept for the next buffer of the same size, since
// vendors take long to allocate. Vendors may promise more than there is and fail later, so what is
// given out is counted here. Thread-safe; its lock is not held while a vendor is called.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/api/backend.h"
#include "base/ref_counted.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/memory_history.h"

namespace tutti::scheduler {

/// Who has memory on devices: a buffer, counted by its references.
class MemoryOwner : public RefCounted {
 public:
  explicit MemoryOwner(uint64_t size) : size_(size) {}
  /// Bytes, the most on each device where it has memory.
  uint64_t size() const { return size_; }

 private:
  const uint64_t size_;
};

class DeviceMemory {
 public:
  /// At most `bytes` are allocated at a time, a sixteenth of them for nobody. Before first use.
  void set_capacity(uint64_t bytes);
  uint64_t capacity() const;
  /// The most bytes that buffers may have there: less than that by what cannot be evicted.
  uint64_t for_buffers() const;
  /// The most bytes that buffers have had there at a time.
  uint64_t peak() const;
  /// What happens to the memory, but for what is counted here.
  MemoryHistory& history() { return history_; }

  /// Memory for `owner`. CL_MEM_OBJECT_ALLOCATION_FAILURE where there is no room for it, which the
  /// vendor is not asked for then. When the vendor has none left, so much is the limit until half
  /// is free.
  Result<std::unique_ptr<backends::Memory>> allocate(backends::Backend& backend, uint64_t size,
                                                     MemoryOwner& owner);
  Result<std::unique_ptr<backends::Memory>> allocate_image(backends::Backend& backend,
                                                           const backends::ImageShape& shape,
                                                           MemoryOwner& owner);
  /// The owner's memory of `size` bytes back, no longer in use; with `keep`, the next owner may get
  /// it.
  void give_back(std::unique_ptr<backends::Memory> memory, uint64_t size, MemoryOwner& owner,
                 bool keep);

  /// For who must have so many bytes more, and has waited for all that others gave up: there is
  /// room for them, up to the capacity and beside what is reserved, and the vendor is asked again.
  void insist(uint64_t bytes);

  /// Counts bytes that something else takes of the device's memory, which cannot be evicted: a
  /// quarter of it at most. False, and nothing is counted, when there is no room for them.
  bool reserve(uint64_t bytes);
  void release(uint64_t bytes);

  /// Counts bytes that a buffer has there for as long as it lives, wherever its content is, until
  /// let_go(). Others may have to be evicted for them. False, and nothing is counted, where there
  /// would be more of such than there is memory.
  bool hold(uint64_t bytes);
  void let_go(uint64_t bytes);

  /// Lets go of what is kept for nobody.
  void drop_kept();

  /// Whether `bytes` more may be allocated. What is kept does not count: it goes first.
  bool has_room(uint64_t bytes) const;
  /// Who has memory here; none of those that are about to go.
  std::vector<Ref<MemoryOwner>> owners() const;

 private:
  using Kept = std::multimap<uint64_t, std::unique_ptr<backends::Memory>>;

  bool has_room_locked(uint64_t bytes) const TUTTI_REQUIRES(mutex_);
  template <typename Allocate>
  Result<std::unique_ptr<backends::Memory>> allocate_with(uint64_t size, MemoryOwner& owner,
                                                          const Allocate& allocate);
  /// How many bytes buffers have there has changed.
  void note() TUTTI_REQUIRES(mutex_);
  /// Takes as much of what is kept out as `bytes` more need; all of it with UINT64_MAX.
  Kept make_room(uint64_t bytes) TUTTI_REQUIRES(mutex_);

  MemoryHistory history_;
  mutable Mutex mutex_;
  uint64_t capacity_ TUTTI_GUARDED_BY(mutex_) = UINT64_MAX;
  // Mostly the capacity; less where others use the device, too, more after insist().
  uint64_t limit_ TUTTI_GUARDED_BY(mutex_) = UINT64_MAX;
  uint64_t used_ TUTTI_GUARDED_BY(mutex_) = 0;  // bytes of owners, reserved and held ones
  uint64_t reserved_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t asked_ TUTTI_GUARDED_BY(mutex_) = 0;  // of used_: the vendor has not said yes yet
  uint64_t peak_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t held_ TUTTI_GUARDED_BY(mutex_) = 0;  // of used_, too
  uint64_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;
  Kept free_ TUTTI_GUARDED_BY(mutex_);
  std::unordered_map<MemoryOwner*, uint64_t> owners_ TUTTI_GUARDED_BY(mutex_);  // and bytes
};

}  // namespace tutti::scheduler
