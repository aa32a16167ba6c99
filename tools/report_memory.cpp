// SPDX-License-Identifier: Apache-2.0
#include "tools/report_memory.h"

#include <algorithm>

namespace tutti::tools {
namespace {

/// From the trace's begin, when there was nothing, to its end. Several points become their highest.
std::vector<std::pair<uint64_t, uint64_t>> curve_of(const TraceFile& trace,
                                                    const TraceMemory& memory) {
  std::vector<std::pair<uint64_t, uint64_t>> points;
  if (memory.bytes.empty()) return points;
  if (memory.bytes.front().first > 0) points.emplace_back(0, 0);
  const size_t step = memory.bytes.size() / kMostCurvePoints + 1;
  for (size_t i = 0; i < memory.bytes.size(); i += step) {
    uint64_t most = 0;
    for (size_t k = i; k < std::min(i + step, memory.bytes.size()); ++k) {
      most = std::max(most, memory.bytes[k].second);
    }
    points.emplace_back(memory.bytes[i].first, most);
  }
  points.emplace_back(trace.duration, memory.bytes.back().second);
  return points;
}

MemoryNumbers numbers_of(const TraceFile& trace, const TraceMemory& memory) {
  MemoryNumbers numbers;
  for (const auto& [time, bytes] : memory.bytes) numbers.peak = std::max(numbers.peak, bytes);
  for (const TraceMemoryEvent& event : memory.events) {
    ++(event.eviction ? numbers.evictions : numbers.shard_changes);
    (event.eviction ? numbers.evicted_bytes : numbers.shard_bytes) += event.bytes;
  }
  const size_t step = numbers.evictions / kMostCurvePoints + 1;
  size_t number = 0;
  for (const TraceMemoryEvent& event : memory.events) {
    if (event.eviction && number++ % step == 0) numbers.eviction_times.push_back(event.begin);
  }
  numbers.bytes = curve_of(trace, memory);
  return numbers;
}

}  // namespace

void add_memory(const TraceFile& trace, ReportNumbers& report) {
  for (const TraceMemory& memory : trace.memories) {
    for (DeviceNumbers& device : report.devices) {
      if (device.device.index == memory.device) device.memory = numbers_of(trace, memory);
    }
  }
}

}  // namespace tutti::tools
