// SPDX-License-Identifier: Apache-2.0
// A command queue: a stream of the context's engine, and the way of every command into it. It lives
// until its last command has ended, whoever released it before. Or one on the device, which is a
// vendor's, and which kernels alone put commands into. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "scheduler/engine/engine.h"

namespace tutti::device_virtual {

/// How a command is enqueued. `event` receives a new event unless null.
struct Submission {
  cl_command_type type = 0;
  std::span<scheduler::Command* const> wait_list;
  cl_event* event = nullptr;
  bool blocking = false;
  bool barrier = false;
};

class Buffer;
class Semaphore;

class CommandQueue : public Handle<CommandQueue, _cl_command_queue, Kind::kQueue> {
 public:
  /// `property_list`: as given to clCreateCommandQueueWithProperties, with the closing 0.
  /// `device`: one of the context's.
  CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
               std::vector<cl_queue_properties> property_list, const backends::QueueHints& hints);
  /// A queue on the device, on the real device `home`. `size`: as it is said to be.
  struct OnDevice {
    std::shared_ptr<backends::DeviceQueue> queue;
    uint32_t home = scheduler::kNoBackend;
    cl_uint size = 0;
  };
  CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
               std::vector<cl_queue_properties> property_list, OnDevice on_device);
  ~CommandQueue();

  Context& context() { return *context_; }
  /// Null for a queue of the host: only that has a stream, and takes commands.
  const OnDevice* on_device() const { return on_device_ ? &*on_device_ : nullptr; }
  Device& device() { return device_; }
  bool profiling() const { return (properties() & CL_QUEUE_PROFILING_ENABLE) != 0; }
  cl_command_queue_properties properties() const {
    return properties_.load(std::memory_order_relaxed);
  }
  /// Of the properties that it has now.
  scheduler::Stream& stream() const { return *stream_.load(std::memory_order_acquire); }
  /// Enables or disables them; what was enqueued before has ended then. The properties until now.
  /// (Another thread that enqueues meanwhile may do so before or after.)
  Result<cl_command_queue_properties> set_properties(cl_command_queue_properties changed,
                                                     bool enable);

  /// On error there is no event and nothing was enqueued, except for a blocking command, whose own
  /// failure is returned.
  Status enqueue(scheduler::Work&& work, const Submission& submission);
  Status enqueue(scheduler::KernelWork&& work, const Submission& submission);
  /// Engine::launch_again().
  std::optional<Status> launch_again(const scheduler::LaunchAgain& launch) {
    return context_->engine().launch_again(stream(), launch);
  }
  /// The same with an event.
  std::optional<Status> launch_again(const scheduler::LaunchAgain& launch, cl_command_type type,
                                     cl_event* event);
  /// clEnqueueMapBuffer: the pointer, also while the command has not ended.
  Result<void*> map(Buffer& buffer, cl_map_flags flags, uint64_t offset, uint64_t size,
                    const Submission& submission);
  /// clEnqueueMapImage likewise.
  Result<void*> map_image(Buffer& image, cl_map_flags flags, const backends::ImageBox& box,
                          const Submission& submission);
  /// CL_INVALID_VALUE when `pointer` is not mapped.
  Status unmap(Buffer& buffer, const void* pointer, const Submission& submission);
  /// clEnqueueSVMMap of so many bytes from there.
  Status map_shared(const SharedAllocations::Place& place, uint64_t size, cl_map_flags flags,
                    const Submission& submission);
  /// CL_INVALID_VALUE when nothing is mapped from there.
  Status unmap_shared(const SharedAllocations::Place& place, const Submission& submission);
  /// clEnqueueSVMMemcpy; an end that is not in shared memory is the host's.
  Status copy_shared(void* to, const void* from, uint64_t size, const Submission& submission);
  /// What it enqueues. CL_INVALID_VALUE.
  Result<scheduler::Work> copy_shared_work(void* to, const void* from, uint64_t size) const;
  /// clEnqueueSVMFree; `function` may be null.
  using FreeFunction = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void**, void*);
  Status free_shared(std::vector<void*> pointers, FreeFunction function, void* user_data,
                     const Submission& submission);
  /// clEnqueueWaitSemaphoresKHR and clEnqueueSignalSemaphoresKHR.
  Status wait_for(const std::vector<Ref<Semaphore>>& semaphores, const Submission& submission);
  Status signal(const std::vector<Ref<Semaphore>>& semaphores, const Submission& submission);
  /// clEnqueueAcquireExternalMemObjectsKHR, clEnqueueReleaseExternalMemObjectsKHR and the same of
  /// objects of OpenGL; all of `memory` is of one kind.
  Status hand_over(std::span<Buffer* const> memory, backends::HandOver what,
                   const Submission& submission);
  /// clEnqueueNativeKernel: `function` gets `arguments`, in which the pointers to the buffers'
  /// memory replace what stands at the offsets.
  struct NativeBuffer {
    Buffer* buffer = nullptr;  // null: the NULL pointer
    size_t offset = 0;         // bytes into the arguments
  };
  Status native_kernel(void(CL_CALLBACK* function)(void*), std::span<const std::byte> arguments,
                       std::span<const NativeBuffer> buffers, const Submission& submission);
  Status flush();
  Status finish();
  Status info(cl_command_queue_info what, const InfoAnswer& answer);

  void last_public_release();

 private:
  /// Transfers whose end at the host leads into unified shared memory of the context become copies:
  /// what orders commands by their bytes, and knows where these are, then knows of that end, too.
  Result<scheduler::Work> with_unified_memory(scheduler::Work&& work) const;
  template <typename Kind>
  Status enqueue_any(Kind&& work, const Submission& submission);

  const Ref<Context> context_;  // first, so that the engine outlives the stream
  Device& device_;              // the context's
  /// The stream for queues of such properties, made at first use.
  scheduler::Stream& stream_for(cl_command_queue_properties properties) TUTTI_REQUIRES(mutex_);
  std::vector<Ref<scheduler::Stream>> streams() TUTTI_EXCLUDES(mutex_);

  const std::vector<cl_queue_properties> property_list_;
  const backends::QueueHints hints_;
  const std::optional<OnDevice> on_device_;
  Mutex mutex_;
  // One for each set of properties that the queue has had.
  std::vector<std::pair<cl_command_queue_properties, Ref<scheduler::Stream>>> streams_
      TUTTI_GUARDED_BY(mutex_);
  std::atomic<cl_command_queue_properties> properties_;
  std::atomic<scheduler::Stream*> stream_{nullptr};  // one of them
};

}  // namespace tutti::device_virtual
