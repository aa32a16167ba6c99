// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/command_queue.h"

#include <cstring>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/process_exit.h"
#include "device_virtual/buffer.h"
#include "device_virtual/event.h"

namespace tutti::device_virtual {

CommandQueue::CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
                           std::vector<cl_queue_properties> property_list,
                           const backends::QueueHints& hints)
    : context_(&context),
      device_(device),
      property_list_(std::move(property_list)),
      hints_(hints),
      properties_(properties) {
  const MutexLock lock(mutex_);
  stream_ = &stream_for(properties);
}

CommandQueue::CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
                           std::vector<cl_queue_properties> property_list, OnDevice on_device)
    : context_(&context),
      device_(device),
      property_list_(std::move(property_list)),
      on_device_(std::move(on_device)),
      properties_(properties) {}

CommandQueue::~CommandQueue() {
  for (const auto& [properties, stream] : streams_) context_->forget_stream(*stream);
}

scheduler::Stream& CommandQueue::stream_for(cl_command_queue_properties properties) {
  for (const auto& [of, stream] : streams_) {
    if (of == properties) return *stream;
  }
  streams_.emplace_back(
      properties, context_->engine().create_stream(
                      {.out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0,
                       .profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0,
                       .backends = context_->backends_of(device_),
                       .hints = hints_,
                       .keeps = context_->lease()}));
  context_->note_stream(streams_.back().second);
  return *streams_.back().second;
}

std::vector<Ref<scheduler::Stream>> CommandQueue::streams() {
  const MutexLock lock(mutex_);
  std::vector<Ref<scheduler::Stream>> all;
  for (const auto& [properties, stream] : streams_) all.push_back(stream);
  return all;
}

Result<cl_command_queue_properties> CommandQueue::set_properties(
    cl_command_queue_properties changed, bool enable) {
  // "… will cause the OpenCL implementation to block until all previously queued commands in
  // command_queue have completed."
  TUTTI_TRY(finish());
  const MutexLock lock(mutex_);
  const cl_command_queue_properties before = properties();
  const cl_command_queue_properties after = enable ? before | changed : before & ~changed;
  stream_.store(&stream_for(after), std::memory_order_release);
  properties_.store(after, std::memory_order_relaxed);
  return before;
}

template <typename Kind>
Status CommandQueue::enqueue_any(Kind&& work, const Submission& submission) {
  scheduler::EnqueueOptions options;
  options.type = submission.type;
  options.wait_list = submission.wait_list;
  options.blocking = submission.blocking;
  options.observed = submission.event != nullptr;
  options.barrier = submission.barrier;
  options.waits_for_all =
      submission.type == CL_COMMAND_MARKER || submission.type == CL_COMMAND_BARRIER;
  auto command = context_->engine().enqueue(stream(), std::forward<Kind>(work), options);
  if (!command) return tl::unexpected<Error>(std::move(command).error());
  if (submission.event != nullptr) {
    const MemoryReserved memory;  // it is enqueued
    *submission.event = (new Event(*this, std::move(*command)))->handle();
  }
  return {};
}

Status CommandQueue::enqueue(scheduler::Work&& work, const Submission& submission) {
  if (!context_->shared_memory().any()) return enqueue_any(std::move(work), submission);
  TUTTI_ASSIGN(auto known, with_unified_memory(std::move(work)));
  return enqueue_any(std::move(known), submission);
}

Status CommandQueue::enqueue(scheduler::KernelWork&& work, const Submission& submission) {
  return enqueue_any(std::move(work), submission);
}

std::optional<Status> CommandQueue::launch_again(const scheduler::LaunchAgain& launch,
                                                 cl_command_type type, cl_event* event) {
  scheduler::LaunchObserver observer{type};
  auto launched = context_->engine().launch_again(stream(), launch, &observer);
  const MemoryReserved memory;
  if (launched && *launched) *event = (new Event(*this, std::move(observer.command)))->handle();
  return launched;
}

namespace {

/// Maps what `mapping` says; its pointer is filled in. `discard`: nothing of it need be made valid.
Result<void*> map_recorded(CommandQueue& queue, Buffer& memory, Buffer::Mapping mapping,
                           uint64_t pointer_offset, bool discard, const Submission& submission) {
  TUTTI_ASSIGN(mapping.pointer, memory.pointer_at(pointer_offset));
  // Recorded before it is enqueued: another thread may unmap as soon as it can see the event.
  TUTTI_TRY(memory.add_mapping(mapping));
  const Status status = queue.enqueue(
      map_work(memory.view(), mapping.offset, mapping.size, mapping.flags, discard), submission);
  if (!status) {
    memory.take_mapping(mapping.pointer);
    return tl::unexpected<Error>(status.error());
  }
  return mapping.pointer;
}

}  // namespace

Result<void*> CommandQueue::map(Buffer& buffer, cl_map_flags flags, uint64_t offset, uint64_t size,
                                const Submission& submission) {
  const bool discard = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  return map_recorded(*this, buffer, {nullptr, offset, size, flags, {{offset, 0, 0}, {size, 1, 1}}},
                      offset, discard, submission);
}

Result<void*> CommandQueue::map_image(Buffer& image, cl_map_flags flags,
                                      const backends::ImageBox& box, const Submission& submission) {
  const backends::ImageShape& shape = *image.image();
  const uint64_t offset = box.origin[0] * shape.pixel_size + box.origin[1] * shape.second_pitch() +
                          box.origin[2] * shape.slice_pitch;
  // The whole image is made valid and becomes the host's, unless all of it is given up.
  const bool discard = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 && box.extent == shape.extent;
  return map_recorded(*this, image, {nullptr, 0, image.size(), flags, box}, offset, discard,
                      submission);
}

Status CommandQueue::unmap(Buffer& buffer, const void* pointer, const Submission& submission) {
  const auto mapping = buffer.take_mapping(pointer);
  if (!mapping) return fail(CL_INVALID_VALUE, "the pointer is not mapped");
  const bool written = (mapping->flags & kMapForWriting) != 0;
  Status status =
      enqueue(unmap_work(buffer.view(), mapping->offset, mapping->size, written), submission);
  if (!status) buffer.restore_mapping(*mapping);
  return status;
}

Status CommandQueue::native_kernel(void(CL_CALLBACK* function)(void*),
                                   std::span<const std::byte> arguments,
                                   std::span<const NativeBuffer> buffers,
                                   const Submission& submission) {
  // "the data pointed to by args … are copied"; in memory aligned for any type.
  auto copy = std::make_shared<std::vector<std::max_align_t>>(
      (arguments.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  auto* const bytes = reinterpret_cast<std::byte*>(copy->data());
  if (!arguments.empty()) std::memcpy(bytes, arguments.data(), arguments.size());
  scheduler::HostWork work;
  for (const NativeBuffer& entry : buffers) {
    void* memory = nullptr;
    if (entry.buffer != nullptr) {
      TUTTI_ASSIGN(memory, entry.buffer->in_host_copy());
      work.buffers.push_back(entry.buffer->view());
    }
    std::memcpy(bytes + entry.offset, &memory, sizeof(memory));
  }
  work.function = [function, copy, given = !arguments.empty()] {
    const ApplicationCode code;
    function(given ? copy->data() : nullptr);
    return Status{};
  };
  return enqueue(std::move(work), submission);
}

Status CommandQueue::flush() {
  // Of a queue whose properties were changed, the earlier streams have nothing left.
  return context_->engine().flush(stream());
}
Status CommandQueue::finish() { return context_->engine().finish(stream()); }

Status CommandQueue::info(cl_command_queue_info what, const InfoAnswer& answer) {
  switch (what) {
    case CL_QUEUE_CONTEXT:
      return answer.value<cl_context>(context_->handle());
    case CL_QUEUE_DEVICE:
      return answer.value<cl_device_id>(device().handle());
    case CL_QUEUE_REFERENCE_COUNT:
      return answer.value(public_references());
    case CL_QUEUE_PROPERTIES:
      return answer.value(properties());
    case CL_QUEUE_PROPERTIES_ARRAY:
      return answer.list(std::span<const cl_queue_properties>(property_list_));
    case CL_QUEUE_SIZE:
      if (on_device_) return answer.value<cl_uint>(on_device_->size);
      // "If command_queue is not a valid device command-queue, CL_INVALID_COMMAND_QUEUE."
      return fail(CL_INVALID_COMMAND_QUEUE, "not a device command-queue");
    case CL_QUEUE_DEVICE_DEFAULT:
      return answer.value<cl_command_queue>(context_->default_queue(device_));
    default:
      return unknown_query();
  }
}

void CommandQueue::last_public_release() {
  if (on_device_) return context_->forget_default_queue(*this);
  // "clReleaseCommandQueue performs an implicit flush". What is in the queue still runs, and must
  // not be waited for here (it may depend on a user event): the engine sees to it.
  if (const Status flushed = flush(); !flushed) {
    log(level_without_vendors(LogLevel::kWarning), "flush at clReleaseCommandQueue: {}",
        flushed.error().message);
  }
  for (const Ref<scheduler::Stream>& stream : streams()) context_->engine().abandon(*stream);
}

}  // namespace tutti::device_virtual
