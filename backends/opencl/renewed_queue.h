// SPDX-License-Identifier: Apache-2.0
// A queue of a device that may begin anew (Backend::renew): a vendor's queue in the present
// context, made when it is first used there. What was given to the one before has ended by then, so
// that both are one in-order queue. Thread-safe, as the queue is.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {

class RenewedQueue final : public Queue {
 public:
  /// `make` gives one in the present context.
  using Make = std::function<Result<std::unique_ptr<OpenClQueue>>()>;
  RenewedQueue(const VendorDevice& device, std::unique_ptr<OpenClQueue> first, Make make)
      : device_(device), make_(std::move(make)), present_(first.get()) {
    made_.push_back(std::move(first));
  }

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
  Status flush() override;
  Status finish() override;

 private:
  /// Null: there is none in the present context.
  OpenClQueue* present() {
    OpenClQueue* const queue = present_.load(std::memory_order_acquire);
    if (queue->generation() == device_.generation()) [[likely]]
      return queue;
    return renew();
  }
  OpenClQueue* renew() TUTTI_EXCLUDES(mutex_);
  /// `call(queue)`, or what calls of a lost context answer.
  template <typename Call>
  std::invoke_result_t<Call, OpenClQueue&> on_present(Call call) {
    if (OpenClQueue* const queue = present()) return call(*queue);
    return device_.of_lost_context("clCreateCommandQueue");
  }
  /// `call(queue, wait)`: completions of an earlier context cannot be in a vendor's wait list, and
  /// are waited for here.
  template <typename Call>
  Result<CompletionPtr> behind(WaitList wait, Call call) {
    return on_present([&](OpenClQueue& queue) -> Result<CompletionPtr> {
      if (queue.generation() == 0) [[likely]]
        return call(queue, wait);
      std::vector<CompletionPtr> left;
      for (const CompletionPtr& completion : wait) {
        if (static_cast<OpenClCompletion&>(*completion).generation() == queue.generation()) {
          left.push_back(completion);
        } else if (!completion->wait()) {
          return device_.failure("command", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        }
      }
      return call(queue, WaitList(left));
    });
  }

  const VendorDevice& device_;
  const Make make_;
  std::atomic<OpenClQueue*> present_;
  Mutex mutex_;  // held while a vendor makes a queue, which happens once
  // Those of lost contexts stay, since a call that has begun may use them.
  std::vector<std::unique_ptr<OpenClQueue>> made_ TUTTI_GUARDED_BY(mutex_);
  // What a queue's end has told that nobody has asked for yet.
  Status untold_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::backends
