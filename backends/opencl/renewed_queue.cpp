// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/renewed_queue.h"

namespace tutti::backends {

OpenClQueue* RenewedQueue::renew() {
  MutexLock lock(mutex_);
  OpenClQueue& before = *made_.back();
  if (before.generation() == device_.generation()) return &before;
  if (const Status ended = before.finish(); !ended) untold_ = ended;
  auto made = make_();
  if (!made) return nullptr;
  made_.push_back(std::move(*made));
  present_.store(made_.back().get(), std::memory_order_release);
  return made_.back().get();
}

Result<CompletionPtr> RenewedQueue::launch(const Launch& launch, WaitList wait) {
  return behind(wait,
                [&](OpenClQueue& queue, WaitList left) { return queue.launch(launch, left); });
}

Status RenewedQueue::launch_again(const Launch& launch, CompletionPtr& run) {
  return on_present([&](OpenClQueue& queue) -> Status {
    // The launches that it stands for were in another context: their end is to be asked for first.
    if (static_cast<OpenClCompletion&>(*run).generation() != queue.generation()) {
      return device_.of_lost_context("clEnqueueNDRangeKernel");
    }
    return queue.launch_again(launch, run);
  });
}

Result<CompletionPtr> RenewedQueue::read(Memory& from, uint64_t offset, uint64_t size, void* to,
                                         Ordering ordering) {
  return behind(ordering.wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.read(from, offset, size, to, {left, ordering.observed});
  });
}

Result<CompletionPtr> RenewedQueue::write(Memory& to, uint64_t offset, uint64_t size,
                                          const void* from, Ordering ordering) {
  return behind(ordering.wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.write(to, offset, size, from, {left, ordering.observed});
  });
}

Status RenewedQueue::write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) {
  return on_present(
      [&](OpenClQueue& queue) { return queue.write_blocking(to, offset, size, from); });
}

Status RenewedQueue::read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) {
  return on_present(
      [&](OpenClQueue& queue) { return queue.read_blocking(from, offset, size, to); });
}

Status RenewedQueue::write_rows(Memory& to, const BufferRows& rows, const void* from) {
  return on_present([&](OpenClQueue& queue) { return queue.write_rows(to, rows, from); });
}

Status RenewedQueue::read_rows(Memory& from, const BufferRows& rows, void* to) {
  return on_present([&](OpenClQueue& queue) { return queue.read_rows(from, rows, to); });
}

Result<CompletionPtr> RenewedQueue::copy(Memory& from, uint64_t from_offset, Memory& to,
                                         uint64_t to_offset, uint64_t size, Ordering ordering) {
  return behind(ordering.wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.copy(from, from_offset, to, to_offset, size, {left, ordering.observed});
  });
}

Result<CompletionPtr> RenewedQueue::fill(Memory& to, uint64_t offset, uint64_t size,
                                         std::span<const std::byte> pattern, Ordering ordering) {
  return behind(ordering.wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.fill(to, offset, size, pattern, {left, ordering.observed});
  });
}

Result<CompletionPtr> RenewedQueue::read_image(Memory& from, const ImageBox& box, void* to,
                                               size_t second_pitch, size_t third_pitch,
                                               WaitList wait) {
  return behind(wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.read_image(from, box, to, second_pitch, third_pitch, left);
  });
}

Result<CompletionPtr> RenewedQueue::write_image(Memory& to, const ImageBox& box, const void* from,
                                                size_t second_pitch, size_t third_pitch,
                                                WaitList wait) {
  return behind(wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.write_image(to, box, from, second_pitch, third_pitch, left);
  });
}

Result<CompletionPtr> RenewedQueue::copy_image(Memory& from, const ImageBox& box, Memory& to,
                                               const std::array<size_t, 3>& origin, WaitList wait) {
  return behind(wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.copy_image(from, box, to, origin, left);
  });
}

Result<CompletionPtr> RenewedQueue::fill_image(Memory& to, const ImageBox& box,
                                               std::span<const std::byte, 16> color,
                                               WaitList wait) {
  return behind(wait, [&](OpenClQueue& queue, WaitList left) {
    return queue.fill_image(to, box, color, left);
  });
}

Status RenewedQueue::map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                                cl_map_flags flags) {
  return on_present(
      [&](OpenClQueue& queue) { return queue.map_shared(memory, offset, size, flags); });
}

Status RenewedQueue::unmap_shared(SharedMemory& memory, uint64_t offset) {
  return on_present([&](OpenClQueue& queue) { return queue.unmap_shared(memory, offset); });
}

Result<CompletionPtr> RenewedQueue::mark(WaitList wait, bool observed) {
  return behind(wait,
                [&](OpenClQueue& queue, WaitList left) { return queue.mark(left, observed); });
}

Status RenewedQueue::flush() {
  return on_present([&](OpenClQueue& queue) { return queue.flush(); });
}

Status RenewedQueue::finish() {
  const Status ended = on_present([&](OpenClQueue& queue) { return queue.finish(); });
  if (device_.generation() == 0) [[likely]]
    return ended;
  MutexLock lock(mutex_);
  const Status untold = std::exchange(untold_, Status());
  return ended ? untold : ended;
}

}  // namespace tutti::backends
