// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/early_read.h"

#include <algorithm>

#include "base/guarded.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/order/buffer_uses.h"
#include "scheduler/run/image_rect.h"

namespace tutti::scheduler {
namespace {

// Less than this is read in no time once the launch has ended.
constexpr uint64_t kWorthReadingEarly = 4 << 20;

}  // namespace

std::optional<EarlyRead::Wanted> EarlyRead::reading(const Work& work) {
  const auto wanted = [](const BufferView& view, uint64_t offset, uint64_t size) {
    const uint64_t begin = view.origin + offset;
    return Wanted{view, {begin, begin + size}, nullptr, {}};
  };
  if (const auto* read = std::get_if<ReadWork>(&work)) {
    Wanted all = wanted(read->from, read->offset, read->size);
    all.to = static_cast<std::byte*>(read->to);
    return all;
  }
  if (const auto* map = std::get_if<MapWork>(&work); map && !map->discard) {
    return wanted(map->view, map->offset, map->size);
  }
  if (const auto* rect = std::get_if<RectWork>(&work); rect && !rect->write) {
    const auto [begin, end] = rect_span(rect->buffer_rect, rect->region);
    Wanted all = wanted(rect->view, begin, end - begin);
    if (rect->view.buffer->image()) all.pixels = *rect;
    return all;
  }
  return {};
}

bool EarlyRead::pays(BackendSet& backends, std::span<const uint32_t> devices, const Wanted& wanted,
                     bool always) {
  if (!always && wanted.range.size() < kWorthReadingEarly) return false;
  // Where reading takes the processor that computes, nothing is gained.
  return std::any_of(devices.begin(), devices.end(), [&](uint32_t i) {
    return wanted.view.buffer->place_on(i) != kHostPlace &&
           (always || (backends.traits(i).type & CL_DEVICE_TYPE_CPU) == 0);
  });
}

void EarlyRead::start() {
  MutexLock lock(mutex_);
  if (over_) return;
  std::vector<std::unique_ptr<TaskThread>> begun;
  for (const uint32_t backend : before_->devices()) {
    if (wanted_.view.buffer->place_on(backend) == kHostPlace) continue;
    // Where there is no thread for it, all is read when the launch has ended.
    static_cast<void>(guarded([&] {
      auto thread = std::make_unique<TaskThread>("tutti-read");
      thread->post([this, backend] { static_cast<void>(guarded([&] { read_from(backend); })); });
      begun.push_back(std::move(thread));
    }));
  }
  threads_ = std::move(begun);
}

std::vector<ByteRange> EarlyRead::finish() {
  std::vector<std::unique_ptr<TaskThread>> threads;
  {
    MutexLock lock(mutex_);
    over_ = true;
    threads.swap(threads_);
  }
  threads.clear();  // after what they are doing
  MutexLock lock(mutex_);
  if (!before_->succeeded()) done_.clear();
  std::sort(done_.begin(), done_.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return std::move(done_);
}

void EarlyRead::read_from(uint32_t backend) {
  const TransferCause cause("read by the application", number_);
  LogicalBuffer& buffer = *wanted_.view.buffer;
  size_t seen = 0;
  for (;;) {
    const auto written = before_->next_written(buffer, buffer.place_on(backend), seen);
    if (written.empty()) return;
    for (ByteRange range : written) {
      range = {std::max(range.begin, wanted_.range.begin), std::min(range.end, wanted_.range.end)};
      if (range.empty()) continue;
      // What fails here is read once more when the launch has ended.
      if (!read(backend, range)) return;
      MutexLock lock(mutex_);
      done_.push_back(range);
    }
  }
}

Status EarlyRead::read(uint32_t backend, const ByteRange& range) {
  LogicalBuffer& buffer = *wanted_.view.buffer;
  TUTTI_ASSIGN(backends::Queue * queue, backends_.reading_queue(backend));
  if (!wanted_.to && !wanted_.pixels) {
    TUTTI_ASSIGN([[maybe_unused]] std::byte * host, buffer.host_memory(wanted_.range.size()));
    return buffer.fetch_written(backend, *queue, range);
  }
  TUTTI_ASSIGN(const Shard there, buffer.shard(backend, range.begin, range.end));
  if (wanted_.pixels) {
    return move_pixels(*queue, *there.memory, *wanted_.pixels, {{range.begin, range.end, 0}});
  }
  return backends_.transfers().read_rows(backend, *queue, *there.memory,
                                         {.offset = there.at(range.begin), .length = range.size()},
                                         wanted_.to + (range.begin - wanted_.range.begin));
}

}  // namespace tutti::scheduler
