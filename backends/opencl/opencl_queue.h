// SPDX-License-Identifier: Apache-2.0
// A vendor's command queue. Thread-safe: OpenCL allows enqueuing from any thread. Its completions
// may outlive it.
#pragma once

#include "backends/opencl/event_list.h"
#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

class OpenClQueue final : public Queue {
 public:
  /// `generation`: of the queue's context.
  OpenClQueue(const VendorDevice& device, OwnedQueue queue, uint32_t generation,
              TrafficCount& traffic)
      : traffic_(traffic),
        device_(device),
        cl_(*device.cl),
        track_(std::make_shared<QueueTrack>(std::move(queue), device.live, generation)),
        queue_(track_->queue) {}

  Result<CompletionPtr> launch(const Launch& launch, WaitList wait) override;
  Status launch_again(const Launch& launch, CompletionPtr& run) override;
  Result<CompletionPtr> read(Memory& from, uint64_t offset, uint64_t size, void* to,
                             Ordering ordering) override;
  Result<CompletionPtr> write(Memory& to, uint64_t offset, uint64_t size, const void* from,
                              Ordering ordering) override;
  Status write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) override;
  Status read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) override;
  Status write_rows(Memory& to, const BufferRows& rows, const void* from) override;
  Status read_rows(Memory& from, const BufferRows& rows, void* to) override;
  Result<CompletionPtr> copy(Memory& from, uint64_t from_offset, Memory& to, uint64_t to_offset,
                             uint64_t size, Ordering ordering) override;
  Result<CompletionPtr> fill(Memory& to, uint64_t offset, uint64_t size,
                             std::span<const std::byte> pattern, Ordering ordering) override;
  Result<CompletionPtr> read_image(Memory& from, const ImageBox& box, void* to, size_t second_pitch,
                                   size_t third_pitch, WaitList wait) override;
  Result<CompletionPtr> write_image(Memory& to, const ImageBox& box, const void* from,
                                    size_t second_pitch, size_t third_pitch,
                                    WaitList wait) override;
  Result<CompletionPtr> copy_image(Memory& from, const ImageBox& box, Memory& to,
                                   const std::array<size_t, 3>& origin, WaitList wait) override;
  Result<CompletionPtr> fill_image(Memory& to, const ImageBox& box,
                                   std::span<const std::byte, 16> color, WaitList wait) override;
  Status map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                    cl_map_flags flags) override;
  Status unmap_shared(SharedMemory& memory, uint64_t offset) override;
  Result<CompletionPtr> mark(WaitList wait, bool observed) override;
  /// Of memory that was imported into the queue's context.
  Result<CompletionPtr> hand_over(std::span<const cl_mem> memory, HandOver what, ExternalKind kind);
  /// The commands on a semaphore of the queue's context, without payloads, which binary ones have
  /// not.
  Result<CompletionPtr> wait_for(cl_semaphore_khr semaphore);
  Result<CompletionPtr> signal(cl_semaphore_khr semaphore);
  Status flush() override;
  Status finish() override;
  /// Of its context.
  uint32_t generation() const { return track_->generation; }

 private:
  /// How many commands lie before a call that begins now, for certain.
  uint64_t calls_before() const { return track_->enqueued.load(std::memory_order_acquire); }
  /// Sets the arguments that changed and launches, under the kernel's lock. `event` may be null.
  [[gnu::always_inline]] inline Status enqueue_launch(const Launch& launch, cl_uint wait_count,
                                                      const cl_event* wait, cl_event* event);
  /// What all enqueuing calls but launches have in common. `enqueue(events, event)` makes the call;
  /// `event` is null where nobody observes the command and a marker can do.
  template <typename Enqueue>
  Result<CompletionPtr> enqueued(const char* call, const Ordering& ordering,
                                 const Enqueue& enqueue) {
    if (vendors_gone()) return device_.gone(call);
    const auto turn = device_.turn();
    const EventList events(ordering.wait, queue_.get());
    if (events.code() != CL_SUCCESS) return device_.failure("clFinish", events.code());
    const uint64_t before = calls_before();
    cl_event event = nullptr;
    track_->begin_call();
    const cl_int code = enqueue(events, ordering.observed || !has_markers() ? &event : nullptr);
    return completion(call, code, event, before);
  }
  /// The failure of a call that was begun.
  tl::unexpected<Error> dropped(const char* call, cl_int code) const {
    track_->end_call();
    return device_.failure(call, code);
  }
  /// Whether a marker can do for a command without an event.
  bool has_markers() const { return cl_.clEnqueueMarkerWithWaitList != nullptr; }
  Result<CompletionPtr> completion(const char* call, cl_int code, cl_event event,
                                   uint64_t before) const;
  void count_to_device(uint64_t bytes) const {
    traffic_.to_device.fetch_add(bytes, std::memory_order_relaxed);
    if (device_.live) live::add(device_.live->bytes_to_device, bytes);
  }
  void count_to_host(uint64_t bytes) const {
    traffic_.to_host.fetch_add(bytes, std::memory_order_relaxed);
    if (device_.live) live::add(device_.live->bytes_to_host, bytes);
  }

  TrafficCount& traffic_;
  const VendorDevice& device_;
  const VendorFunctions& cl_;
  const std::shared_ptr<QueueTrack> track_;
  const OwnedQueue& queue_;  // the track's
};

}  // namespace tutti::backends
