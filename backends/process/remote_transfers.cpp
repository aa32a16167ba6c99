// SPDX-License-Identifier: Apache-2.0
// Transfers between the host's memory and a device in a process of its own.
#include <algorithm>
#include <cstring>

#include "backends/process/remote_objects.h"
#include "backends/process/remote_queue.h"

namespace tutti::backends::process {
namespace {

/// Copies rows between memory where they lie at a pitch and memory where they do, too.
void copy_rows(std::byte* to, const std::byte* from, const BufferRows& rows) {
  for (uint64_t i = 0; i < rows.count; ++i) {
    std::memcpy(to + i * rows.pitch, from + i * rows.pitch, rows.length);
  }
}

/// Packs the rows of a box, as Staged unpacks them.
void pack(std::byte* to, const std::byte* from, const QueueProgress::Staged::Target& box) {
  for (uint64_t third = 0; third < box.count[1]; ++third) {
    for (uint64_t second = 0; second < box.count[0]; ++second) {
      std::memcpy(to, from + third * box.pitch[1] + second * box.pitch[0], box.length);
      to += box.length;
    }
  }
}

/// Given back at the end of the scope.
class HeldStage {
 public:
  HeldStage(RemoteDevice& device, RemoteDevice::Stage stage)
      : device_(device), stage_(std::move(stage)) {}
  ~HeldStage() { device_.give_back(std::move(stage_)); }
  HeldStage(const HeldStage&) = delete;
  HeldStage& operator=(const HeldStage&) = delete;
  const RemoteDevice::Stage& operator*() const { return stage_; }
  const RemoteDevice::Stage* operator->() const { return &stage_; }

 private:
  RemoteDevice& device_;
  RemoteDevice::Stage stage_;
};

}  // namespace

void RemoteQueue::make_room(const Present& queue, uint64_t size) {
  constexpr uint64_t kSoMuch = uint64_t{256} << 20, kSmall = uint64_t{64} << 10;
  if (size < kSmall || queue.progress->waiting() + size <= kSoMuch) return;
  Writer request;
  request.put(queue.number);
  const Status finished = ended(queue, queue.channel->call("finishing", Op::kFinish, request));
  if (finished) return;
  const MutexLock lock(mutex_);
  untold_ = finished;
}

Result<Place> RemoteQueue::place(const Present& queue, const void* data, uint64_t size,
                                 const Staged::Target& target, bool write, StagedPtr& staged) {
  if (const auto shared = device_.arena.offset_of(data, size)) return *shared;
  const uint64_t packed = target.length * target.count[0] * target.count[1];
  make_room(queue, packed);
  TUTTI_ASSIGN(SharedRange range, device_.arena.allocate(packed));
  if (write) pack(range.data(), static_cast<const std::byte*>(data), target);
  const Place place = range.offset();
  staged = std::make_shared<Staged>(std::move(range), write ? Staged::Target{} : target);
  return place;
}

Result<CompletionPtr> RemoteQueue::read(Memory& from, uint64_t offset, uint64_t size, void* to,
                                        Ordering ordering) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, from));
  StagedPtr staged;
  TUTTI_ASSIGN(const Place at,
               place(queue, to, size, {static_cast<std::byte*>(to), size}, false, staged));
  request.put(offset).put(size).put(at);
  device_.count_to_host(size);
  return enqueue("reading", Op::kRead, queue, request, ordering, true, std::move(staged));
}

Result<CompletionPtr> RemoteQueue::write(Memory& to, uint64_t offset, uint64_t size,
                                         const void* from, Ordering ordering) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, to));
  StagedPtr staged;
  TUTTI_ASSIGN(const Place at, place(queue, from, size, {nullptr, size}, true, staged));
  request.put(offset).put(size).put(at);
  device_.count_to_device(size);
  return enqueue("writing", Op::kWrite, queue, request, ordering, true, std::move(staged));
}

Status RemoteQueue::write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) {
  TUTTI_ASSIGN(const Present queue, present());
  device_.count_to_device(size);
  const auto* bytes = static_cast<const std::byte*>(from);
  const auto shared = device_.arena.offset_of(from, size);
  if (shared || size <= kMostInline) {
    TUTTI_ASSIGN(Writer request, this->request(queue, to));
    request.put(offset).put(size).put<Place>(shared ? *shared : kInline);
    if (!shared) request.block({bytes, size});
    return ended(queue, queue.channel->call("writing", Op::kWriteNow, request));
  }
  TUTTI_ASSIGN(auto taken, device_.take_stage());
  const HeldStage stage(device_, std::move(taken));
  // One half is filled while the device takes the other one.
  Channel::Call under_way;
  for (uint64_t at = 0, i = 0; at < size; at += RemoteDevice::kStage, ++i) {
    const uint64_t length = std::min(RemoteDevice::kStage, size - at);
    std::memcpy(stage->part(i), bytes + at, length);
    auto request = this->request(queue, to);
    if (under_way) {
      TUTTI_TRY(ended(queue, queue.channel->end(std::exchange(under_way, {}))));
    }
    if (!request) return tl::unexpected(std::move(request).error());
    request->put(offset + at).put(length).put(stage->place(i));
    TUTTI_ASSIGN(under_way, queue.channel->begin("writing", Op::kWriteNow, *request));
  }
  return ended(queue, queue.channel->end(std::move(under_way)));
}

Status RemoteQueue::read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) {
  TUTTI_ASSIGN(const Present queue, present());
  device_.count_to_host(size);
  auto* bytes = static_cast<std::byte*>(to);
  const auto shared = device_.arena.offset_of(to, size);
  if (shared || size <= kMostInline) {
    TUTTI_ASSIGN(Writer request, this->request(queue, from));
    request.put(offset).put(size).put<Place>(shared ? *shared : kInline);
    TUTTI_ASSIGN(const auto answer, queue.channel->call("reading", Op::kReadNow, request));
    Reader reader = answer.reader();
    const auto before = reader.get<uint64_t>();
    if (!shared) {
      const auto content = reader.block();
      if (content.size() != size) return fail(CL_OUT_OF_RESOURCES, "an answer that is none");
      std::copy(content.begin(), content.end(), bytes);
    }
    queue.progress->note_ended(before);
    return {};
  }
  TUTTI_ASSIGN(auto taken, device_.take_stage());
  const HeldStage stage(device_, std::move(taken));
  const auto begin = [&](uint64_t i) -> Result<Channel::Call> {
    const uint64_t at = i * RemoteDevice::kStage;
    TUTTI_ASSIGN(Writer request, this->request(queue, from));
    request.put(offset + at).put(std::min(RemoteDevice::kStage, size - at)).put(stage->place(i));
    return queue.channel->begin("reading", Op::kReadNow, request);
  };
  // One half is copied while the device fills the other one.
  const uint64_t count = (size + RemoteDevice::kStage - 1) / RemoteDevice::kStage;
  TUTTI_ASSIGN(Channel::Call under_way, begin(0));
  for (uint64_t i = 0; i < count; ++i) {
    TUTTI_TRY(ended(queue, queue.channel->end(std::move(under_way))));
    if (i + 1 < count) {
      TUTTI_ASSIGN(under_way, begin(i + 1));
    }
    const uint64_t at = i * RemoteDevice::kStage;
    std::memcpy(bytes + at, stage->part(i), std::min(RemoteDevice::kStage, size - at));
  }
  return {};
}

Status RemoteQueue::write_rows(Memory& to, const BufferRows& rows, const void* from) {
  TUTTI_ASSIGN(const Present queue, present());
  const auto call = [&](const BufferRows& part, Place at) -> Status {
    TUTTI_ASSIGN(Writer request, this->request(queue, to));
    request.put(part).put(at);
    return ended(queue, queue.channel->call("writing", Op::kWriteRows, request));
  };
  const auto* bytes = static_cast<const std::byte*>(from);
  const auto shared = device_.arena.offset_of(from, span_of(rows));
  if (!shared && rows.length > RemoteDevice::kStage / 2) {
    return Queue::write_rows(to, rows, from);  // row by row, which count
  }
  device_.count_to_device(rows.length * rows.count);
  if (shared) return call(rows, *shared);
  TUTTI_ASSIGN(auto taken, device_.take_stage());
  const HeldStage stage(device_, std::move(taken));
  const uint64_t most =
      std::max<uint64_t>(1, RemoteDevice::kStage / std::max<uint64_t>(1, rows.pitch));
  for (uint64_t i = 0; i < rows.count; i += most) {
    const BufferRows part{rows.offset + i * rows.pitch, rows.length, rows.pitch,
                          std::min(most, rows.count - i)};
    copy_rows(stage->part(0), bytes + i * rows.pitch, part);
    TUTTI_TRY(call(part, stage->place(0)));
  }
  return {};
}

Status RemoteQueue::read_rows(Memory& from, const BufferRows& rows, void* to) {
  TUTTI_ASSIGN(const Present queue, present());
  const auto call = [&](const BufferRows& part, Place at) -> Status {
    TUTTI_ASSIGN(Writer request, this->request(queue, from));
    request.put(part).put(at);
    return ended(queue, queue.channel->call("reading", Op::kReadRows, request));
  };
  auto* bytes = static_cast<std::byte*>(to);
  const auto shared = device_.arena.offset_of(to, span_of(rows));
  if (!shared && rows.length > RemoteDevice::kStage / 2) {
    return Queue::read_rows(from, rows, to);  // row by row, which count
  }
  device_.count_to_host(rows.length * rows.count);
  if (shared) return call(rows, *shared);
  TUTTI_ASSIGN(auto taken, device_.take_stage());
  const HeldStage stage(device_, std::move(taken));
  const uint64_t most =
      std::max<uint64_t>(1, RemoteDevice::kStage / std::max<uint64_t>(1, rows.pitch));
  for (uint64_t i = 0; i < rows.count; i += most) {
    const BufferRows part{rows.offset + i * rows.pitch, rows.length, rows.pitch,
                          std::min(most, rows.count - i)};
    TUTTI_TRY(call(part, stage->place(0)));
    copy_rows(bytes + i * rows.pitch, stage->part(0), part);
  }
  return {};
}

namespace {
/// Bytes from a box's first pixel to the end of its last one, at these pitches.
uint64_t span_of(const ImageBox& box, uint64_t length, size_t second_pitch, size_t third_pitch) {
  return length + (box.extent[1] - 1) * second_pitch + (box.extent[2] - 1) * third_pitch;
}
}  // namespace

Result<CompletionPtr> RemoteQueue::read_image(Memory& from, const ImageBox& box, void* to,
                                              size_t second_pitch, size_t third_pitch,
                                              WaitList wait) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, from));
  const uint64_t length = box.extent[0] * from.pixel_size();
  StagedPtr staged;
  TUTTI_ASSIGN(const Place at, place(queue, to, span_of(box, length, second_pitch, third_pitch),
                                     {static_cast<std::byte*>(to),
                                      length,
                                      {box.extent[1], box.extent[2]},
                                      {second_pitch, third_pitch}},
                                     false, staged));
  request.put(box).put(at);
  request.put<uint64_t>(staged ? length : second_pitch)
      .put<uint64_t>(staged ? length * box.extent[1] : third_pitch);
  device_.count_to_host(length * box.extent[1] * box.extent[2]);
  return enqueue("reading an image", Op::kReadImage, queue, request, wait, false,
                 std::move(staged));
}

Result<CompletionPtr> RemoteQueue::write_image(Memory& to, const ImageBox& box, const void* from,
                                               size_t second_pitch, size_t third_pitch,
                                               WaitList wait) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, to));
  const uint64_t length = box.extent[0] * to.pixel_size();
  StagedPtr staged;
  TUTTI_ASSIGN(const Place at,
               place(queue, from, span_of(box, length, second_pitch, third_pitch),
                     {nullptr, length, {box.extent[1], box.extent[2]}, {second_pitch, third_pitch}},
                     true, staged));
  request.put(box).put(at);
  request.put<uint64_t>(staged ? length : second_pitch)
      .put<uint64_t>(staged ? length * box.extent[1] : third_pitch);
  device_.count_to_device(length * box.extent[1] * box.extent[2]);
  return enqueue("writing an image", Op::kWriteImage, queue, request, wait, false,
                 std::move(staged));
}

}  // namespace tutti::backends::process
