// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/early_read.h"

#include <algorithm>

#include "scheduler/exec/buffer_uses.h"
#include "scheduler/exec/transfer_trace.h"
#include "scheduler/memory/image_boxes.h"

namespace tutti::scheduler {
namespace {

// Less than this is read in no time once the launch has ended.
constexpr uint64_t kWorthReadingEarly = 4 << 20;

}  // namespace

std::optional<ReadWork> EarlyRead::reading(const Work& work) {
  if (const auto* read = std::get_if<ReadWork>(&work)) return *read;
  if (const auto* map = std::get_if<MapWork>(&work); map && !map->discard) {
    return ReadWork{map->view, map->offset, map->size, nullptr};
  }
  if (const auto* rect = std::get_if<RectWork>(&work); rect && !rect->write) {
    const auto [begin, end] = rect_span(rect->buffer_rect, rect->region);
    return ReadWork{rect->view, begin, end - begin, nullptr};
  }
  return {};
}

bool EarlyRead::pays(BackendSet& backends, std::span<const uint32_t> devices, const ReadWork& work,
                     bool always) {
  if (!always && work.size < kWorthReadingEarly) return false;
  // Where reading takes the processor that computes, nothing is gained.
  return std::any_of(devices.begin(), devices.end(), [&](uint32_t i) {
    return work.from.buffer->place_on(i) != kHostPlace &&
           (always || (backends.traits(i).type & CL_DEVICE_TYPE_CPU) == 0);
  });
}

void EarlyRead::start() {
  MutexLock lock(mutex_);
  if (over_) return;
  for (const uint32_t backend : before_->devices()) {
    if (work_.from.buffer->place_on(backend) == kHostPlace) continue;
    threads_.emplace_back([this, backend] { read_from(backend); });
  }
}

std::vector<ByteRange> EarlyRead::finish() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    over_ = true;
    threads.swap(threads_);
  }
  for (auto& thread : threads) thread.join();
  MutexLock lock(mutex_);
  if (!before_->succeeded()) done_.clear();
  std::sort(done_.begin(), done_.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return std::move(done_);
}

void EarlyRead::read_from(uint32_t backend) {
  const TransferCause cause("read by the application", number_);
  LogicalBuffer& buffer = *work_.from.buffer;
  const uint64_t begin = work_.from.origin + work_.offset;
  const uint64_t end = begin + work_.size;
  size_t seen = 0;
  for (;;) {
    const auto written = before_->next_written(buffer, buffer.place_on(backend), seen);
    if (written.empty()) return;
    for (ByteRange range : written) {
      range = {std::max(range.begin, begin), std::min(range.end, end)};
      if (range.empty()) continue;
      // What fails here is read once more when the launch has ended.
      if (!read(backend, range)) return;
      MutexLock lock(mutex_);
      done_.push_back(range);
    }
  }
}

Status EarlyRead::read(uint32_t backend, const ByteRange& range) {
  LogicalBuffer& buffer = *work_.from.buffer;
  TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
  TUTTI_ASSIGN(backends::Queue * queue, backends_.reading_queue(backend));
  if (work_.to) {
    const uint64_t at = range.begin - (work_.from.origin + work_.offset);
    return queue->read_blocking(*memory, range.begin, range.size(),
                                static_cast<std::byte*>(work_.to) + at);
  }
  TUTTI_ASSIGN(std::byte * host, buffer.host_memory(work_.size));
  const backends::ImageShape* shape = buffer.image();
  if (!shape) {
    return queue->read_blocking(*memory, range.begin, range.size(), host + range.begin);
  }
  for (const auto& [box, offset] : boxes_of(*shape, range.begin, range.end)) {
    TUTTI_ASSIGN(const auto ended,
                 queue->read_image(*memory, box, host + offset, shape->second_pitch(),
                                   shape->slice_pitch, {}));
    TUTTI_TRY(ended->wait());
  }
  return {};
}

}  // namespace tutti::scheduler
