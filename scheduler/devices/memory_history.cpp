// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/memory_history.h"

#include <utility>

#include "base/clock.h"

namespace tutti::scheduler {
namespace {

constexpr uint32_t kRow = 900'001;  // of a device's process, behind its queues and its state

void trace_point(uint32_t process, const ThinnedCounter::Point& point) {
  trace::counter(process, "memory", point.time_ns, "bytes", static_cast<double>(point.value));
}

}  // namespace

void MemoryHistory::set_device(uint32_t process, uint32_t index) {
  process_ = process;
  index_ = index;
}

void MemoryHistory::trace_bytes(uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto point = bytes_.changed(now_ns(), bytes);
  lock.unlock();
  if (point) trace_point(process_, *point);
}

void MemoryHistory::tell_rest() {
  if (!trace::on()) return;
  MutexLock lock(mutex_);
  const auto points = bytes_.rest();
  lock.unlock();
  for (const auto& point : points) trace_point(process_, point);
}

void MemoryHistory::evicted(uint64_t bytes, uint64_t began_ns) {
  count(&Sums::evicted, "eviction", bytes, began_ns);
}

void MemoryHistory::reshaped(uint64_t bytes, uint64_t began_ns) {
  count(&Sums::reshaped, "shard", bytes, began_ns);
}

void MemoryHistory::count(Sum Sums::*sum, std::string_view what, uint64_t bytes,
                          uint64_t began_ns) {
  MutexLock lock(mutex_);
  ++(sums_.*sum).count;
  (sums_.*sum).bytes += bytes;
  if (!trace::on()) return;
  const bool named = std::exchange(named_, true);
  lock.unlock();
  const trace::Row row{process_, kRow};
  if (!named) trace::name_row(row, "memory");
  trace::Args args;
  args.add("device", index_).add("bytes", bytes);
  trace::slice(row, "memory", what, began_ns, now_ns(), args);
}

MemoryHistory::Sums MemoryHistory::sums() const {
  MutexLock lock(mutex_);
  return sums_;
}

}  // namespace tutti::scheduler
