// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/merge_atomic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tutti::scheduler {
namespace {

/// The floating-point type of that size.
template <typename T>
using Float = std::conditional_t<sizeof(T) == 8, double, float>;

template <typename T>
T bits_of(Float<T> value) {
  return std::bit_cast<T>(value);
}

template <typename T>
T neutral(MergeOperator op) {
  using Signed = std::make_signed_t<T>;
  switch (op) {
    case MergeOperator::kAnd:
    case MergeOperator::kUMin:
      return std::numeric_limits<T>::max();
    case MergeOperator::kMin:
      return static_cast<T>(std::numeric_limits<Signed>::max());
    case MergeOperator::kMax:
      return static_cast<T>(std::numeric_limits<Signed>::min());
    case MergeOperator::kFSum:  // -0.0 leaves a zero its sign
      return bits_of<T>(-Float<T>{0});
    case MergeOperator::kFMin:
      return bits_of<T>(std::numeric_limits<Float<T>>::infinity());
    case MergeOperator::kFMax:
      return bits_of<T>(-std::numeric_limits<Float<T>>::infinity());
    case MergeOperator::kSum:
    case MergeOperator::kXor:
    case MergeOperator::kOr:
    case MergeOperator::kUMax:
      break;
  }
  return 0;
}

template <typename T>
T combined(MergeOperator op, T a, T b) {
  using Signed = std::make_signed_t<T>;
  switch (op) {
    case MergeOperator::kSum:
      return a + b;
    case MergeOperator::kXor:
      return a ^ b;
    case MergeOperator::kAnd:
      return a & b;
    case MergeOperator::kOr:
      return a | b;
    case MergeOperator::kMin:
      return static_cast<Signed>(a) < static_cast<Signed>(b) ? a : b;
    case MergeOperator::kMax:
      return static_cast<Signed>(a) > static_cast<Signed>(b) ? a : b;
    case MergeOperator::kUMin:
      return std::min(a, b);
    case MergeOperator::kUMax:
      return std::max(a, b);
    case MergeOperator::kFSum:
    case MergeOperator::kFMin:
    case MergeOperator::kFMax:
      break;
  }
  // What no device has touched keeps its bits, those of a NaN too.
  if (b == neutral<T>(op)) return a;
  const auto x = std::bit_cast<Float<T>>(a), y = std::bit_cast<Float<T>>(b);
  if (op == MergeOperator::kFSum) return bits_of<T>(x + y);
  return bits_of<T>(op == MergeOperator::kFMin ? std::fmin(x, y) : std::fmax(x, y));
}

template <typename T>
void combine_all(MergeOperator op, std::span<std::byte> into, std::span<const std::byte> with) {
  for (size_t at = 0; at + sizeof(T) <= into.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into.data() + at, sizeof(T));
    std::memcpy(&b, with.data() + at, sizeof(T));
    a = combined(op, a, b);
    std::memcpy(into.data() + at, &a, sizeof(T));
  }
}

}  // namespace

std::array<std::byte, 8> neutral_element(MergeOperator op, uint32_t unit) {
  std::array<std::byte, 8> bytes{};
  const uint64_t wide = neutral<uint64_t>(op);
  const uint32_t narrow = neutral<uint32_t>(op);
  if (unit == 8) {
    std::memcpy(bytes.data(), &wide, sizeof(wide));
  } else {
    std::memcpy(bytes.data(), &narrow, sizeof(narrow));
  }
  return bytes;
}

void combine(MergeOperator op, uint32_t unit, std::span<std::byte> into,
             std::span<const std::byte> with) {
  if (unit == 8) {
    combine_all<uint64_t>(op, into, with);
  } else {
    combine_all<uint32_t>(op, into, with);
  }
}

bool AtomicMerge::add(const MergeRegion& region, const BufferView& view) {
  if (view.buffer.get() != view_.buffer.get() || view.origin != view_.origin ||
      view.size != view_.size) {
    return false;
  }
  regions_.push_back(region);
  return true;
}

Result<backends::Memory*> AtomicMerge::copy_on(uint32_t backend, backends::Queue& queue) {
  MutexLock lock(mutex_);
  // A device may come back for what others could not do.
  for (Copy& copy : copies_) {
    if (copy.backend != backend) continue;
    copy.values.clear();  // it adds to them
    return copy.memory.get();
  }
  Copy copy{backend, nullptr, {}};
  TUTTI_ASSIGN(copy.memory, backends_.at(backend).allocate(view_.size, nullptr));
  for (const MergeRegion& region : regions_) {
    const auto element = neutral_element(region.op, region.unit);
    TUTTI_ASSIGN(const auto filled,
                 queue.fill(*copy.memory, region.range.begin - view_.origin, region.range.size(),
                            std::span(element).first(region.unit), {}));
    TUTTI_TRY(filled->wait());  // else the merge would add what was there
  }
  copies_.push_back(std::move(copy));
  return copies_.back().memory.get();
}

Status AtomicMerge::prepare(uint32_t backend, backends::Queue& queue,
                            std::vector<backends::Argument>& arguments) {
  TUTTI_ASSIGN(backends::Memory * copy, copy_on(backend, queue));
  for (const MergeRegion& region : regions_) {
    for (const uint32_t argument : region.arguments) {
      arguments[argument].memory = copy;
      arguments[argument].origin = 0;
      arguments[argument].size = copy->size();
    }
  }
  return {};
}

Status AtomicMerge::read_values(Copy& copy) {
  if (!copy.values.empty()) return {};
  std::vector<std::vector<std::byte>> values;
  for (const MergeRegion& region : regions_) {
    std::vector<std::byte>& bytes = values.emplace_back(region.range.size());
    TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(copy.backend));
    TUTTI_TRY(queue->read_blocking(*copy.memory, region.range.begin - view_.origin, bytes.size(),
                                   bytes.data()));
  }
  copy.values = std::move(values);
  return {};
}

std::optional<uint32_t> AtomicMerge::unreachable() {
  MutexLock lock(mutex_);
  for (Copy& copy : copies_) {
    if (read_values(copy) || read_values(copy)) continue;
    return copy.backend;
  }
  return std::nullopt;
}

bool AtomicMerge::drop(uint32_t backend, bool /*unread*/) {
  MutexLock lock(mutex_);
  std::erase_if(copies_, [&](const Copy& copy) { return copy.backend == backend; });
  return true;
}

Status AtomicMerge::finish(bool success) {
  if (!success) return {};  // the buffer itself was not touched
  MutexLock lock(mutex_);
  LogicalBuffer& buffer = *view_.buffer;
  for (Copy& copy : copies_) TUTTI_TRY(read_values(copy));
  for (size_t i = 0; i < regions_.size(); ++i) {
    const MergeRegion& region = regions_[i];
    const ByteRange& range = region.range;
    TUTTI_TRY(buffer.make_valid(kHostPlace, range.begin, range.end));
    TUTTI_ASSIGN(std::byte * host, buffer.host_memory());
    std::vector<std::byte> result(host + range.begin, host + range.end);
    for (const Copy& copy : copies_) combine(region.op, region.unit, result, copy.values[i]);
    std::memcpy(host + range.begin, result.data(), result.size());
    buffer.set_exclusive(kHostPlace, range.begin, range.end);
  }
  return {};
}

}  // namespace tutti::scheduler
