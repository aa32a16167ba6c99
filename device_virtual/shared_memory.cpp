// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/shared_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::device_virtual {

void SharedAllocation::add_mapping(const Mapping& mapping) {
  const MutexLock lock(mutex_);
  mappings_.push_back(mapping);
}

std::optional<SharedAllocation::Mapping> SharedAllocation::take_mapping(uint64_t offset) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(mappings_.rbegin(), mappings_.rend(),
                                  [&](const Mapping& one) { return one.offset == offset; });
  if (found == mappings_.rend()) return std::nullopt;
  const Mapping mapping = *found;
  mappings_.erase(std::next(found).base());
  return mapping;
}

void* SharedAllocations::add(Ref<scheduler::LogicalBuffer> buffer, const SharedOrigin& origin) {
  auto allocation = make_ref<SharedAllocation>(std::move(buffer), origin);
  void* const address = allocation->address();
  const MutexLock lock(mutex_);
  allocations_.insert_or_assign(reinterpret_cast<uintptr_t>(address), std::move(allocation));
  count_.store(allocations_.size(), std::memory_order_release);
  return address;
}

bool SharedAllocations::free(const void* address, bool unified) {
  Ref<SharedAllocation> freed;  // let go of with no lock held
  {
    const MutexLock lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<uintptr_t>(address));
    if (found == allocations_.end() || backends::is_unified(found->second->kind()) != unified) {
      return false;
    }
    freed = std::move(found->second);
    allocations_.erase(found);
    count_.store(allocations_.size(), std::memory_order_release);
  }
  freed->argument_holders().forget(address);
  return true;
}

std::optional<SharedAllocations::Place> SharedAllocations::find(const void* pointer) const {
  if (!any()) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const MutexLock lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return std::nullopt;
  const auto& [begin, allocation] = *std::prev(after);
  if (address - begin >= allocation->size()) return std::nullopt;
  return Place{allocation, address - begin};
}

std::vector<scheduler::BufferView> SharedAllocations::views() const {
  std::vector<scheduler::BufferView> result;
  const MutexLock lock(mutex_);
  result.reserve(allocations_.size());
  for (const auto& [begin, allocation] : allocations_) result.push_back(allocation->view_from(0));
  return result;
}

Status unified_memory_info(const std::optional<SharedAllocations::Place>& place,
                           cl_mem_info_intel what, const InfoAnswer& answer) {
  const SharedAllocation* const found =
      place && backends::is_unified(place->allocation->kind()) ? place->allocation.get() : nullptr;
  const auto type = [&]() -> cl_unified_shared_memory_type_intel {
    if (found == nullptr) return CL_MEM_TYPE_UNKNOWN_INTEL;
    switch (found->kind()) {
      case backends::SharedKind::kVirtual:
      case backends::SharedKind::kBuffer:
        break;
      case backends::SharedKind::kHost:
        return CL_MEM_TYPE_HOST_INTEL;
      case backends::SharedKind::kDevice:
        return CL_MEM_TYPE_DEVICE_INTEL;
      case backends::SharedKind::kShared:
        return CL_MEM_TYPE_SHARED_INTEL;
    }
    return CL_MEM_TYPE_UNKNOWN_INTEL;
  };
  switch (what) {
    case CL_MEM_ALLOC_TYPE_INTEL:
      return answer.value(type());
    case CL_MEM_ALLOC_BASE_PTR_INTEL:
      return answer.value<void*>(found != nullptr ? found->address() : nullptr);
    case CL_MEM_ALLOC_SIZE_INTEL:
      return answer.value<size_t>(found != nullptr ? found->size() : 0);
    case CL_MEM_ALLOC_DEVICE_INTEL:
      return answer.value<cl_device_id>(found != nullptr ? found->origin().device : nullptr);
    case CL_MEM_ALLOC_FLAGS_INTEL:
      return answer.value<cl_mem_alloc_flags_intel>(found != nullptr ? found->origin().flags : 0);
    default:
      return unknown_query();
  }
}

scheduler::Work map_work(const scheduler::BufferView& view, uint64_t offset, uint64_t size,
                         cl_map_flags flags, bool discard) {
  const bool writable = flags != CL_MAP_READ;
  if (!view.buffer->shared_apart()) {
    return scheduler::MapWork{view, offset, size, discard, writable};
  }
  return scheduler::MapSharedWork{view, offset, size, false, writable, flags};
}

scheduler::Work unmap_work(const scheduler::BufferView& view, uint64_t offset, uint64_t size,
                           bool written) {
  if (!view.buffer->shared_apart()) return scheduler::UnmapWork{view, offset, size, written};
  return scheduler::MapSharedWork{view, offset, size, true, written, 0};
}

}  // namespace tutti::device_virtual
