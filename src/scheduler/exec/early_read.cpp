// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/early_read.h"

#include <algorithm>

#include "scheduler/exec/transfer_trace.h"

namespace tutti::scheduler {
namespace {

// Less than this is read in no time once the launch has ended.
constexpr uint64_t kWorthReadingEarly = 4 << 20;

}  // namespace

std::optional<ReadWork> EarlyRead::reading(const Work& work) {
  if (const auto* read = std::get_if<ReadWork>(&work)) return *read;
  const auto* map = std::get_if<MapWork>(&work);
  if (!map || map->discard) return {};
  const auto host = map->view.buffer->host_memory();  // which was made for the pointer to return
  if (!host) return {};
  return ReadWork{map->view, map->offset, map->size, *host + map->view.origin + map->offset};
}

bool EarlyRead::pays(BackendSet& backends, std::span<const uint32_t> devices, const ReadWork& work,
                     bool always) {
  if (work.from.buffer->image() || (!always && work.size < kWorthReadingEarly)) return false;
  // Where reading takes the processor that computes, nothing is gained.
  return std::any_of(devices.begin(), devices.end(), [&](uint32_t i) {
    return backends.place(i) != kHostPlace &&
           (always || (backends.traits(i).type & CL_DEVICE_TYPE_CPU) == 0);
  });
}

void EarlyRead::start() {
  MutexLock lock(mutex_);
  if (over_) return;
  for (const uint32_t backend : before_->devices()) {
    if (backends_.place(backend) == kHostPlace) continue;
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
    const auto written = before_->next_written(buffer, backends_.place(backend), seen);
    if (written.empty()) return;
    for (ByteRange range : written) {
      range = {std::max(range.begin, begin), std::min(range.end, end)};
      if (range.empty()) continue;
      // What fails here is read once more when the launch has ended.
      const auto memory = buffer.device_memory(backend);
      const auto queue = backends_.reading_queue(backend);
      if (!memory || !queue) return;
      auto* const to = static_cast<std::byte*>(work_.to) + (range.begin - begin);
      if (!(*queue)->read_blocking(**memory, range.begin, range.size(), to)) return;
      MutexLock lock(mutex_);
      done_.push_back(range);
    }
  }
}

}  // namespace tutti::scheduler
