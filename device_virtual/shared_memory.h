// SPDX-License-Identifier: Apache-2.0
// The shared memory of a context (clSVMAlloc, and the functions of cl_intel_unified_shared_memory):
// which allocation a pointer leads into. An allocation is a LogicalBuffer whose home device's copy
// is the memory that the application sees; queued commands hold that, not these objects.
// Thread-safe.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ref_counted.h"
#include "base/thread_annotations.h"
#include "device_virtual/info.h"
#include "device_virtual/kernel_arguments.h"
#include "scheduler/command/work.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::device_virtual {

/// Bytes of the largest data type, to which all shared memory is aligned.
inline constexpr uint32_t kLargestType = 128;

/// How the application has asked for it, where it was not by clSVMAlloc.
struct SharedOrigin {
  cl_device_id device = nullptr;  // with which it is associated, if any
  cl_bitfield flags = 0;          // cl_mem_alloc_flags_intel
  cl_mem buffer = nullptr;        // of a buffer with an address, the application's object
};

class SharedAllocation : public RefCounted {
 public:
  SharedAllocation(Ref<scheduler::LogicalBuffer> buffer, const SharedOrigin& origin)
      : buffer_(std::move(buffer)), origin_(origin) {}

  std::byte* address() const { return buffer_->shared()->data(); }
  uint64_t size() const { return buffer_->size(); }
  backends::SharedKind kind() const { return buffer_->shared()->kind(); }
  const SharedOrigin& origin() const { return origin_; }
  const Ref<scheduler::LogicalBuffer>& buffer() const { return buffer_; }
  scheduler::BufferView view_from(uint64_t offset) const {
    return {buffer_, offset, size() - offset};
  }
  /// The kernel arguments that point here; they forget it when it is freed.
  ArgumentHolders& argument_holders() { return argument_holders_; }

  /// One clEnqueueSVMMap that has not been unmapped; bytes from the begin.
  struct Mapping {
    uint64_t offset = 0;
    uint64_t size = 0;
    cl_map_flags flags = 0;
  };
  void add_mapping(const Mapping& mapping) TUTTI_EXCLUDES(mutex_);
  /// The newest one that begins there is forgotten and returned; nothing if there is none.
  std::optional<Mapping> take_mapping(uint64_t offset) TUTTI_EXCLUDES(mutex_);

 private:
  const Ref<scheduler::LogicalBuffer> buffer_;
  const SharedOrigin origin_;
  ArgumentHolders argument_holders_;
  Mutex mutex_;
  std::vector<Mapping> mappings_ TUTTI_GUARDED_BY(mutex_);
};

class SharedAllocations {
 public:
  /// A byte of an allocation.
  struct Place {
    Ref<SharedAllocation> allocation;
    uint64_t offset = 0;
    uint64_t rest() const { return allocation->size() - offset; }
  };

  /// The address.
  void* add(Ref<scheduler::LogicalBuffer> buffer, const SharedOrigin& origin);
  /// The allocation that begins there is the application's no more; what uses it keeps it. False:
  /// there is none, or it is not unified, or it is, other than said.
  bool free(const void* address, bool unified);
  std::optional<Place> find(const void* pointer) const;
  /// Cheap: there are some.
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  /// All of all, ascending by address.
  std::vector<scheduler::BufferView> views() const;

 private:
  mutable Mutex mutex_;
  std::map<uintptr_t, Ref<SharedAllocation>> allocations_ TUTTI_GUARDED_BY(mutex_);  // by begin
  std::atomic<size_t> count_{0};
};

/// clGetMemAllocInfoINTEL; `place`: absent where the pointer leads into no shared memory.
Status unified_memory_info(const std::optional<SharedAllocations::Place>& place,
                           cl_mem_info_intel what, const InfoAnswer& answer);

/// What maps and unmaps a range of a view, in shared memory or not. `discard`: nothing of it need
/// be made valid; `written`: it was mapped for writing.
scheduler::Work map_work(const scheduler::BufferView& view, uint64_t offset, uint64_t size,
                         cl_map_flags flags, bool discard);
scheduler::Work unmap_work(const scheduler::BufferView& view, uint64_t offset, uint64_t size,
                           bool written);

}  // namespace tutti::device_virtual
