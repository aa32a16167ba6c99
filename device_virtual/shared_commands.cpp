// SPDX-License-Identifier: Apache-2.0
// A command queue's commands on shared virtual memory.
#include <cstring>
#include <memory>
#include <utility>

#include "base/process_exit.h"
#include "device_virtual/command_queue.h"
#include "scheduler/order/buffer_uses.h"

namespace tutti::device_virtual {

Status CommandQueue::map_shared(const SharedAllocations::Place& place, uint64_t size,
                                cl_map_flags flags, const Submission& submission) {
  SharedAllocation& allocation = *place.allocation;
  // Recorded before it is enqueued: another thread may unmap as soon as it can see the event.
  allocation.add_mapping({place.offset, size, flags});
  const bool discard = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  Status status =
      enqueue(map_work(allocation.view_from(0), place.offset, size, flags, discard), submission);
  if (!status) allocation.take_mapping(place.offset);
  return status;
}

Status CommandQueue::unmap_shared(const SharedAllocations::Place& place,
                                  const Submission& submission) {
  SharedAllocation& allocation = *place.allocation;
  const auto mapping = allocation.take_mapping(place.offset);
  if (!mapping) return fail(CL_INVALID_VALUE, "the pointer is not mapped");
  const bool written = (mapping->flags & ~cl_map_flags{CL_MAP_READ}) != 0;
  Status status = enqueue(
      unmap_work(allocation.view_from(0), mapping->offset, mapping->size, written), submission);
  if (!status) allocation.add_mapping(*mapping);
  return status;
}

Status CommandQueue::copy_shared(void* to, const void* from, uint64_t size,
                                 const Submission& submission) {
  TUTTI_ASSIGN(auto work, copy_shared_work(to, from, size));
  return enqueue(std::move(work), submission);
}

Result<scheduler::Work> CommandQueue::copy_shared_work(void* to, const void* from,
                                                       uint64_t size) const {
  const auto target = context_->shared_memory().find(to);
  const auto source = context_->shared_memory().find(from);
  if ((target && size > target->rest()) || (source && size > source->rest())) {
    return fail(CL_INVALID_VALUE, "more than there is of the shared memory");
  }
  if (size == 0) return scheduler::no_work();
  if (target && source) {
    return scheduler::CopyWork{source->allocation->view_from(0), target->allocation->view_from(0),
                               source->offset, target->offset, size};
  }
  if (target) {
    return scheduler::WriteWork{target->allocation->view_from(0), target->offset, size, from};
  }
  if (source) {
    return scheduler::ReadWork{source->allocation->view_from(0), source->offset, size, to};
  }
  return scheduler::HostWork{[to, from, size] {
    std::memcpy(to, from, size);
    return Status{};
  }};
}

Result<scheduler::Work> CommandQueue::with_unified_memory(scheduler::Work&& work) const {
  using scheduler::BufferView;
  const auto view_at = [&](const void* pointer, uint64_t size) -> Result<BufferView> {
    const auto place = context_->shared_memory().find(pointer);
    if (!place || !backends::is_unified(place->allocation->kind())) return BufferView{};
    if (size > place->rest()) {
      return fail(CL_INVALID_VALUE, "more than there is of the shared memory");
    }
    return place->allocation->view_from(place->offset);
  };
  if (const auto* read = std::get_if<scheduler::ReadWork>(&work)) {
    TUTTI_ASSIGN(const BufferView to, view_at(read->to, read->size));
    if (to.buffer) return scheduler::CopyWork{read->from, to, read->offset, 0, read->size};
  } else if (const auto* write = std::get_if<scheduler::WriteWork>(&work)) {
    TUTTI_ASSIGN(const BufferView from, view_at(write->from, write->size));
    if (from.buffer) return scheduler::CopyWork{from, write->to, 0, write->offset, write->size};
  } else if (const auto* rect = std::get_if<scheduler::RectWork>(&work)) {
    TUTTI_ASSIGN(const BufferView host,
                 view_at(rect->host, scheduler::rect_span(rect->host_rect, rect->region).second));
    if (host.buffer && rect->write) {
      return scheduler::CopyRectWork{host, rect->view, rect->host_rect, rect->buffer_rect,
                                     rect->region};
    }
    if (host.buffer) {
      return scheduler::CopyRectWork{rect->view, host, rect->buffer_rect, rect->host_rect,
                                     rect->region};
    }
  }
  return std::move(work);
}

Status CommandQueue::free_shared(std::vector<void*> pointers, FreeFunction function,
                                 void* user_data, const Submission& submission) {
  scheduler::HostWork work;
  // The queue outlives its commands, and with it the context.
  work.function = [queue = Ref<CommandQueue>(this), pointers = std::move(pointers), function,
                   user_data]() mutable {
    if (function != nullptr) {
      const ApplicationCode code;
      function(queue->handle(), static_cast<cl_uint>(pointers.size()), pointers.data(), user_data);
    } else {
      for (void* pointer : pointers) queue->context().shared_memory().free(pointer, false);
    }
    return Status{};
  };
  return enqueue(std::move(work), submission);
}

}  // namespace tutti::device_virtual
