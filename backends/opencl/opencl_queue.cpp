// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_queue.h"

#include <bit>
#include <cstring>

#include "backends/opencl/event_list.h"
#include "base/clock.h"

namespace tutti::backends {
Result<CompletionPtr> OpenClQueue::completion(const char* call, cl_int code, cl_event event,
                                              uint64_t before) const {
  if (code != CL_SUCCESS) return dropped(call, code);
  auto made = std::make_shared<OpenClCompletion>(device_, track_, event, before);
  if (event == nullptr) track_->set_milestone(device_);
  return made;
}

Status OpenClQueue::enqueue_launch(const Launch& launch, cl_uint wait_count, const cl_event* wait,
                                   cl_event* event) {
  auto& kernel = static_cast<OpenClKernel&>(*launch.kernel);
  const auto& offset = launch.offset;
  // OpenCL 1.0 takes no offset but NULL.
  const bool shifted = (offset[0] | offset[1] | offset[2]) != 0;
  MutexLock lock(kernel.mutex());
  TUTTI_TRY(kernel.set_arguments(launch.arguments));
  kernel.compile_ahead(launch);
  track_->begin_call();
  const cl_int code = cl_.clEnqueueNDRangeKernel(
      queue_.get(), kernel.handle(), launch.dims, shifted ? offset.data() : nullptr,
      launch.global.data(), launch.local ? launch.local->data() : nullptr, wait_count, wait, event);
  if (code != CL_SUCCESS) return dropped("clEnqueueNDRangeKernel", code);
  kernel.count_launch();
  return {};
}

Result<CompletionPtr> OpenClQueue::launch(const Launch& launch, WaitList wait) {
  if (vendors_gone()) return device_.gone("clEnqueueNDRangeKernel");
  const auto turn = device_.turn();
  const EventList events(wait, queue_.get());
  if (events.code() != CL_SUCCESS) return device_.failure("clFinish", events.code());
  const bool wants_event = launch.observed || !has_markers();
  const uint64_t before = wants_event ? calls_before() : 0;
  cl_event event = nullptr;
  TUTTI_TRY(
      enqueue_launch(launch, events.count(), events.events(), wants_event ? &event : nullptr));
  return completion("clEnqueueNDRangeKernel", CL_SUCCESS, event, before);
}

Status OpenClQueue::launch_again(const Launch& launch, CompletionPtr& run) {
  auto& completion = static_cast<OpenClCompletion&>(*run);
  if (!completion.may_stand_for_more()) return Queue::launch_again(launch, run);
  if (vendors_gone()) return device_.gone("clEnqueueNDRangeKernel");
  const auto turn = device_.turn();
  TUTTI_TRY(enqueue_launch(launch, 0, nullptr, nullptr));
  completion.stand_for_newest();
  return {};
}

Result<CompletionPtr> OpenClQueue::read(Memory& from, uint64_t offset, uint64_t size, void* to,
                                        Ordering ordering) {
  return enqueued("clEnqueueReadBuffer", ordering, [&](const EventList& events, cl_event* event) {
    const cl_int code = cl_.clEnqueueReadBuffer(queue_.get(), handle_of(from), CL_FALSE, offset,
                                                size, to, events.count(), events.events(), event);
    if (code == CL_SUCCESS) count_to_host(size);
    return code;
  });
}

Result<CompletionPtr> OpenClQueue::write(Memory& to, uint64_t offset, uint64_t size,
                                         const void* from, Ordering ordering) {
  return enqueued("clEnqueueWriteBuffer", ordering, [&](const EventList& events, cl_event* event) {
    const cl_int code =
        cl_.clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_FALSE, offset, size, from,
                                 events.count(), events.events(), event);
    if (code == CL_SUCCESS) count_to_device(size);
    return code;
  });
}

Status OpenClQueue::write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) {
  if (vendors_gone()) return device_.gone("clEnqueueWriteBuffer");
  const auto turn = device_.turn();
  track_->begin_call();
  const cl_int code = cl_.clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_TRUE, offset, size,
                                               from, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return dropped("clEnqueueWriteBuffer", code);
  count_to_device(size);
  track_->note_call();
  return {};
}

Status OpenClQueue::read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) {
  if (vendors_gone()) return device_.gone("clEnqueueReadBuffer");
  const uint64_t before = calls_before();
  const auto turn = device_.turn();
  track_->begin_call();
  const cl_int code = cl_.clEnqueueReadBuffer(queue_.get(), handle_of(from), CL_TRUE, offset, size,
                                              to, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return dropped("clEnqueueReadBuffer", code);
  count_to_host(size);
  track_->note_ended(before);  // the queue is in-order
  return {};
}

namespace {
/// Rows as the vendors' rectangles: the same in the buffer and in the host's memory, unless they
/// are packed there.
struct Rectangle {
  Rectangle(const BufferRows& rows, bool packed)
      : buffer{rows.offset % rows.pitch, rows.offset / rows.pitch, 0},
        region{rows.length, rows.count, 1},
        host_pitch(packed ? rows.length : rows.pitch) {}
  std::array<size_t, 3> buffer;
  std::array<size_t, 3> host{0, 0, 0};
  std::array<size_t, 3> region;
  size_t host_pitch;
};

/// The rows of `from`, which have `from_pitch`, to `to`.
void copy_rows(const BufferRows& rows, const std::byte* from, size_t from_pitch, std::byte* to,
               size_t to_pitch) {
  for (uint64_t i = 0; i < rows.count; ++i) {
    std::memcpy(to + i * to_pitch, from + i * from_pitch, rows.length);
  }
}

/// Some drivers refuse rectangles whose rows reach beyond the pitch: those are done as two, cut
/// where the pitch ends. `transfer` gets rows and their distance from the first byte.
template <typename Transfer>
Status in_rectangles(const BufferRows& rows, Transfer&& transfer) {
  const uint64_t before = rows.pitch - rows.offset % rows.pitch;
  if (rows.length <= before) return transfer(rows, 0);
  BufferRows part = rows;
  part.length = before;
  TUTTI_TRY(transfer(part, 0));
  part.offset += before;
  part.length = rows.length - before;
  return transfer(part, before);
}
}  // namespace

Status OpenClQueue::write_rows(Memory& to, const BufferRows& rows, const void* from) {
  if (rows.count == 1) return write_blocking(to, rows.offset, rows.length, from);
  if (!cl_.clEnqueueWriteBufferRect) return Queue::write_rows(to, rows, from);
  if (vendors_gone()) return device_.gone("clEnqueueWriteBufferRect");
  return in_rectangles(rows, [&](const BufferRows& part, uint64_t skipped) -> Status {
    const auto* host = static_cast<const std::byte*>(from) + skipped;
    const bool packs = device_.quirks.ignores_host_pitch;
    const Rectangle box(part, packs);
    std::vector<std::byte> packed(packs ? part.length * part.count : 0);
    if (packs) copy_rows(part, host, part.pitch, packed.data(), part.length);
    auto turn = device_.turn();
    track_->begin_call();
    const cl_int code = cl_.clEnqueueWriteBufferRect(
        queue_.get(), handle_of(to), CL_TRUE, box.buffer.data(), box.host.data(), box.region.data(),
        part.pitch, 0, box.host_pitch, 0, packs ? packed.data() : host, 0, nullptr, nullptr);
    if (code == CL_INVALID_VALUE) {
      // Refused before anything was done: row by row, each in a turn of its own.
      (void)device_.error("clEnqueueWriteBufferRect", code);
      turn.unlock();
      track_->end_call();
      return Queue::write_rows(to, part, host);
    }
    if (code != CL_SUCCESS) return dropped("clEnqueueWriteBufferRect", code);
    count_to_device(part.length * part.count);
    track_->note_call();
    return {};
  });
}

Status OpenClQueue::read_rows(Memory& from, const BufferRows& rows, void* to) {
  if (rows.count == 1) return read_blocking(from, rows.offset, rows.length, to);
  if (!cl_.clEnqueueReadBufferRect) return Queue::read_rows(from, rows, to);
  if (vendors_gone()) return device_.gone("clEnqueueReadBufferRect");
  return in_rectangles(rows, [&](const BufferRows& part, uint64_t skipped) -> Status {
    auto* host = static_cast<std::byte*>(to) + skipped;
    const bool packs = device_.quirks.ignores_host_pitch;
    const Rectangle box(part, packs);
    std::vector<std::byte> packed(packs ? part.length * part.count : 0);
    auto turn = device_.turn();
    track_->begin_call();
    const cl_int code = cl_.clEnqueueReadBufferRect(
        queue_.get(), handle_of(from), CL_TRUE, box.buffer.data(), box.host.data(),
        box.region.data(), part.pitch, 0, box.host_pitch, 0, packs ? packed.data() : host, 0,
        nullptr, nullptr);
    if (code == CL_INVALID_VALUE) {
      // Refused before anything was done: row by row, each in a turn of its own.
      (void)device_.error("clEnqueueReadBufferRect", code);
      turn.unlock();
      track_->end_call();
      return Queue::read_rows(from, part, host);
    }
    if (code != CL_SUCCESS) return dropped("clEnqueueReadBufferRect", code);
    if (packs) copy_rows(part, packed.data(), part.length, host, part.pitch);
    count_to_host(part.length * part.count);
    track_->end_call();  // blocking reads are not counted
    return {};
  });
}

Result<CompletionPtr> OpenClQueue::copy(Memory& from, uint64_t from_offset, Memory& to,
                                        uint64_t to_offset, uint64_t size, Ordering ordering) {
  return enqueued("clEnqueueCopyBuffer", ordering, [&](const EventList& events, cl_event* event) {
    return cl_.clEnqueueCopyBuffer(queue_.get(), handle_of(from), handle_of(to), from_offset,
                                   to_offset, size, events.count(), events.events(), event);
  });
}

Result<CompletionPtr> OpenClQueue::fill(Memory& to, uint64_t offset, uint64_t size,
                                        std::span<const std::byte> pattern, Ordering ordering) {
  if (vendors_gone()) return device_.gone("clEnqueueFillBuffer");
  if (pattern.empty() || offset % pattern.size() != 0 || size % pattern.size() != 0) {
    return device_.failure("clEnqueueFillBuffer", CL_INVALID_VALUE);
  }
  if (cl_.clEnqueueFillBuffer && std::has_single_bit(pattern.size()) && pattern.size() <= 128) {
    return enqueued("clEnqueueFillBuffer", ordering, [&](const EventList& events, cl_event* event) {
      return cl_.clEnqueueFillBuffer(queue_.get(), handle_of(to), pattern.data(), pattern.size(),
                                     offset, size, events.count(), events.events(), event);
    });
  }
  // Vendors before 1.2, and patterns that OpenCL does not take. Blocking, as the bytes are ours.
  std::vector<std::byte> bytes(size);
  for (size_t at = 0; at < size; at += pattern.size()) {
    std::memcpy(bytes.data() + at, pattern.data(), pattern.size());
  }
  return enqueued(
      "clEnqueueWriteBuffer", ordering.wait, [&](const EventList& events, cl_event* event) {
        return cl_.clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_TRUE, offset, size,
                                        bytes.data(), events.count(), events.events(), event);
      });
}

Result<CompletionPtr> OpenClQueue::mark(WaitList wait, bool observed) {
  if (vendors_gone()) return device_.gone("clEnqueueMarkerWithWaitList");
  if (!has_markers()) return device_.failure("clEnqueueMarkerWithWaitList", CL_INVALID_OPERATION);
  if (!observed && wait.empty()) {
    // The vendor's marker is enqueued when somebody asks, as for a command without an event.
    return std::make_shared<OpenClCompletion>(device_, track_, nullptr, calls_before());
  }
  return enqueued("clEnqueueMarkerWithWaitList", wait,
                  [&](const EventList& events, cl_event* event) {
                    return cl_.clEnqueueMarkerWithWaitList(queue_.get(), events.count(),
                                                           events.events(), event);
                  });
}

Status OpenClQueue::flush() {
  if (vendors_gone()) return device_.gone("clFlush");
  const auto turn = device_.turn();
  const cl_int code = track_->flush(device_);
  if (code != CL_SUCCESS) return device_.failure("clFlush", code);
  return {};
}

Status OpenClQueue::finish() {
  // A stream has several queues per device, of which most are idle.
  const uint64_t before = calls_before();
  if (track_->ended.load(std::memory_order_acquire) >= before) return {};
  if (vendors_gone()) return device_.gone("clFinish");
  const auto turn = device_.turn();
  const cl_int code = cl_.clFinish(queue_.get());
  if (code != CL_SUCCESS) return device_.failure("clFinish", code);
  track_->note_ended(before);
  return {};
}

}  // namespace tutti::backends
