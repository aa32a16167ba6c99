// SPDX-License-Identifier: Apache-2.0
// A vendor's semaphore (cl_khr_semaphore). It belongs to the context in which it was made, and is
// of no use once that is lost. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {

class OpenClSemaphore final : public Semaphore {
 public:
  /// Makes a queue in the present context.
  using MakeQueue = std::function<Result<std::unique_ptr<OpenClQueue>>()>;
  /// `context` keeps `handle` alive, which is of this generation.
  static Result<std::unique_ptr<Semaphore>> create(const VendorDevice& device,
                                                   std::shared_ptr<const void> context,
                                                   cl_context handle, uint32_t generation,
                                                   std::span<const cl_ulong> properties,
                                                   MakeQueue make_queue);

  Result<CompletionPtr> wait() override;
  Result<CompletionPtr> signal() override;
  Result<std::vector<std::byte>> info(cl_uint what) override;
  Result<std::vector<std::byte>> export_handle(cl_uint type) override;
  Status import_again(int descriptor) override;

 private:
  OpenClSemaphore(const VendorDevice& device, std::shared_ptr<const void> context,
                  uint32_t generation, OwnedSemaphore semaphore, MakeQueue make_queue)
      : device_(device),
        context_(std::move(context)),
        generation_(generation),
        semaphore_(std::move(semaphore)),
        make_queue_(std::move(make_queue)) {}
  using Command = Result<CompletionPtr> (OpenClQueue::*)(cl_semaphore_khr);
  /// Enqueues the command, and has the vendor begin it.
  Result<CompletionPtr> enqueue(Command command) TUTTI_EXCLUDES(mutex_);
  /// Where such commands go.
  Result<OpenClQueue*> queue_of(Command command) TUTTI_EXCLUDES(mutex_);
  Status usable(const char* call) const;

  const VendorDevice& device_;
  const std::shared_ptr<const void> context_;
  const uint32_t generation_;
  const OwnedSemaphore semaphore_;
  const MakeQueue make_queue_;
  Mutex mutex_;  // held while a vendor makes a queue, which happens twice at most
  // What waits holds up its own queue alone; what signals never waits.
  std::unique_ptr<OpenClQueue> waits_ TUTTI_GUARDED_BY(mutex_);
  std::unique_ptr<OpenClQueue> signals_ TUTTI_GUARDED_BY(mutex_);
};

/// Whether the driver has all functions that semaphores take; that they have handles.
bool has_semaphores(const VendorFunctions& cl);

}  // namespace tutti::backends
