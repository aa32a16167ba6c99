// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "backends/bounded/bounded_objects.h"

namespace tutti::backends::bounded {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<CompletionPtr> own_of(WaitList wait) {
  std::vector<CompletionPtr> result;
  result.reserve(wait.size());
  for (const CompletionPtr& one : wait) result.push_back(own(*one));
  return result;
}

std::shared_ptr<Bytes> copy_of(const void* from, uint64_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  return std::make_shared<Bytes>(bytes, bytes + size);
}

uint64_t span_of(const BufferRows& rows) {
  return rows.count > 1 ? rows.pitch * (rows.count - 1) + rows.length : rows.length;
}

/// A launch that owns all that it refers to, the device's own objects.
class OwnLaunch {
 public:
  explicit OwnLaunch(const Launch& given)
      : launch_(given),
        kernel_(own(*given.kernel)),
        arguments_(given.arguments.begin(), given.arguments.end()) {
    launch_.kernel = kernel_.get();
    launch_.arguments = arguments_;
    for (Argument& argument : arguments_) {
      if (argument.memory != nullptr) {
        memory_.push_back(own(*argument.memory));
        argument.memory = memory_.back().get();
      }
      bytes_.emplace_back(argument.bytes.begin(), argument.bytes.end());
      argument.bytes = bytes_.back();
    }
  }
  OwnLaunch(const OwnLaunch&) = delete;
  OwnLaunch& operator=(const OwnLaunch&) = delete;

  const Launch& launch() const { return launch_; }

 private:
  Launch launch_;
  std::shared_ptr<Kernel> kernel_;
  std::vector<Argument> arguments_;
  std::vector<std::shared_ptr<Memory>> memory_;
  std::vector<Bytes> bytes_;
};

}  // namespace

cl_int BoundedCompletion::poll() {
  if (!calls_.hangs()) return object_->poll();
  return object_->known_complete() ? CL_COMPLETE : CL_DEVICE_NOT_AVAILABLE;
}

Status BoundedCompletion::wait() {
  if (object_->known_complete()) return {};
  return calls_.run("waiting for a command", [own = object_] { return own->wait(); });
}

std::optional<VendorTimes> BoundedCompletion::times() {
  return calls_.hangs() ? std::nullopt : object_->times();
}

Result<CompletionPtr> BoundedSemaphore::wait() {
  TUTTI_ASSIGN(CompletionPtr made,
               calls_.run("waiting for a semaphore", [own = object_] { return own->wait(); }));
  return std::make_shared<BoundedCompletion>(calls_, std::move(made));
}

Result<CompletionPtr> BoundedSemaphore::signal() {
  TUTTI_ASSIGN(CompletionPtr made,
               calls_.run("signalling a semaphore", [own = object_] { return own->signal(); }));
  return std::make_shared<BoundedCompletion>(calls_, std::move(made));
}

template <typename Call>
Result<CompletionPtr> BoundedQueue::enqueue(const char* name, Ordering ordering, Call call) {
  TUTTI_ASSIGN(CompletionPtr made,
               calls_.run(name, [queue = object_, wait = own_of(ordering.wait),
                                 observed = ordering.observed, call = std::move(call)] {
                 return call(*queue, Ordering(wait, observed));
               }));
  return std::make_shared<BoundedCompletion>(calls_, std::move(made));
}

Result<CompletionPtr> BoundedQueue::launch(const Launch& launch, WaitList wait) {
  return enqueue("launching a kernel", wait,
                 [own = std::make_shared<OwnLaunch>(launch)](Queue& queue, const Ordering& order) {
                   return queue.launch(own->launch(), order.wait);
                 });
}

Result<CompletionPtr> BoundedQueue::read(Memory& from, uint64_t offset, uint64_t size, void* to,
                                         Ordering ordering) {
  return enqueue("reading", ordering,
                 [memory = own(from), offset, size, to](Queue& queue, const Ordering& order) {
                   return queue.read(*memory, offset, size, to, order);
                 });
}

Result<CompletionPtr> BoundedQueue::write(Memory& to, uint64_t offset, uint64_t size,
                                          const void* from, Ordering ordering) {
  return enqueue("writing", ordering,
                 [memory = own(to), offset, size, from](Queue& queue, const Ordering& order) {
                   return queue.write(*memory, offset, size, from, order);
                 });
}

Status BoundedQueue::write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) {
  return calls_.run("writing",
                    [queue = object_, memory = own(to), offset, size, bytes = copy_of(from, size)] {
                      return queue->write_blocking(*memory, offset, size, bytes->data());
                    });
}

Status BoundedQueue::read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) {
  const auto bytes = std::make_shared<Bytes>(size);
  TUTTI_TRY(calls_.run("reading", [queue = object_, memory = own(from), offset, size, bytes] {
    return queue->read_blocking(*memory, offset, size, bytes->data());
  }));
  std::memcpy(to, bytes->data(), size);
  return {};
}

Status BoundedQueue::write_rows(Memory& to, const BufferRows& rows, const void* from) {
  return calls_.run(
      "writing", [queue = object_, memory = own(to), rows, bytes = copy_of(from, span_of(rows))] {
        return queue->write_rows(*memory, rows, bytes->data());
      });
}

Status BoundedQueue::read_rows(Memory& from, const BufferRows& rows, void* to) {
  const auto bytes = std::make_shared<Bytes>(span_of(rows));
  TUTTI_TRY(calls_.run("reading", [queue = object_, memory = own(from), rows, bytes] {
    return queue->read_rows(*memory, rows, bytes->data());
  }));
  for (uint64_t i = 0; i < rows.count; ++i) {
    std::memcpy(static_cast<std::byte*>(to) + i * rows.pitch, bytes->data() + i * rows.pitch,
                rows.length);
  }
  return {};
}

Result<CompletionPtr> BoundedQueue::copy(Memory& from, uint64_t from_offset, Memory& to,
                                         uint64_t to_offset, uint64_t size, Ordering ordering) {
  return enqueue("copying", ordering,
                 [source = own(from), from_offset, target = own(to), to_offset, size](
                     Queue& queue, const Ordering& order) {
                   return queue.copy(*source, from_offset, *target, to_offset, size, order);
                 });
}

Result<CompletionPtr> BoundedQueue::fill(Memory& to, uint64_t offset, uint64_t size,
                                         std::span<const std::byte> pattern, Ordering ordering) {
  return enqueue("filling", ordering,
                 [memory = own(to), offset, size, bytes = Bytes(pattern.begin(), pattern.end())](
                     Queue& queue, const Ordering& order) {
                   return queue.fill(*memory, offset, size, bytes, order);
                 });
}

Result<CompletionPtr> BoundedQueue::read_image(Memory& from, const ImageBox& box, void* to,
                                               size_t second_pitch, size_t third_pitch,
                                               WaitList wait) {
  return enqueue("reading an image", wait,
                 [memory = own(from), box, to, second_pitch, third_pitch](Queue& queue,
                                                                          const Ordering& order) {
                   return queue.read_image(*memory, box, to, second_pitch, third_pitch, order.wait);
                 });
}

Result<CompletionPtr> BoundedQueue::write_image(Memory& to, const ImageBox& box, const void* from,
                                                size_t second_pitch, size_t third_pitch,
                                                WaitList wait) {
  return enqueue("writing an image", wait,
                 [memory = own(to), box, from, second_pitch, third_pitch](Queue& queue,
                                                                          const Ordering& order) {
                   return queue.write_image(*memory, box, from, second_pitch, third_pitch,
                                            order.wait);
                 });
}

Result<CompletionPtr> BoundedQueue::copy_image(Memory& from, const ImageBox& box, Memory& to,
                                               const std::array<size_t, 3>& origin, WaitList wait) {
  return enqueue(
      "copying an image", wait,
      [source = own(from), box, target = own(to), origin](Queue& queue, const Ordering& order) {
        return queue.copy_image(*source, box, *target, origin, order.wait);
      });
}

Result<CompletionPtr> BoundedQueue::fill_image(Memory& to, const ImageBox& box,
                                               std::span<const std::byte, 16> color,
                                               WaitList wait) {
  std::array<std::byte, 16> kept{};
  std::copy(color.begin(), color.end(), kept.begin());
  return enqueue("filling an image", wait,
                 [memory = own(to), box, kept](Queue& queue, const Ordering& order) {
                   return queue.fill_image(*memory, box, kept, order.wait);
                 });
}

Status BoundedQueue::map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                                cl_map_flags flags) {
  return calls_.run("mapping", [queue = object_, own = own(memory), offset, size, flags] {
    return queue->map_shared(*own, offset, size, flags);
  });
}

Status BoundedQueue::unmap_shared(SharedMemory& memory, uint64_t offset) {
  return calls_.run("unmapping", [queue = object_, own = own(memory), offset] {
    return queue->unmap_shared(*own, offset);
  });
}

Result<CompletionPtr> BoundedQueue::mark(WaitList wait, bool observed) {
  return enqueue("marking", wait, [observed](Queue& queue, const Ordering& order) {
    return queue.mark(order.wait, observed);
  });
}

Status BoundedQueue::flush() {
  return calls_.run("flushing", [queue = object_] { return queue->flush(); });
}

Status BoundedQueue::finish() {
  return calls_.run("finishing", [queue = object_] { return queue->finish(); });
}

}  // namespace tutti::backends::bounded
