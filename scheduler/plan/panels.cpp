// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/panels.h"

#include <algorithm>
#include <cstring>

#include "scheduler/access/panel_argument.h"
#include "scheduler/access/strided_accesses.h"

namespace tutti::scheduler {
namespace {

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/// The largest power of 2 that divides it.
uint64_t power_in(uint64_t value) { return value & (~value + 1); }

/// How far rows of `length` bytes lie apart that begin at multiples of `alignment`, where slices
/// begin anywhere that the accesses do.
uint64_t row_width(const StridedAccesses& columns, uint64_t length, uint64_t alignment) {
  const auto begins = static_cast<uint64_t>(columns.step | columns.begin | columns.period);
  return round_up(length + alignment - std::min(alignment, power_in(begins)), alignment);
}

}  // namespace

void PanelShape::pack(const std::byte* window, uint64_t from, uint64_t to, std::byte* panel) const {
  for (uint64_t row = from / width; row * width < to; ++row) {
    const int64_t source = begin + static_cast<int64_t>(row * pitch);
    // Of the row, what is wanted, and there.
    const uint64_t first = std::max(from, row * width) - row * width;
    const uint64_t there = source < 0 ? static_cast<uint64_t>(-source) : 0;
    const int64_t left = static_cast<int64_t>(size) - source;
    if (left <= 0) return;
    const uint64_t begin_at = std::max(first, there);
    const uint64_t end = std::min({to - row * width, length, static_cast<uint64_t>(left)});
    if (begin_at >= end) continue;
    std::memcpy(panel + (row * width + begin_at - from),
                window + (source + static_cast<int64_t>(begin_at)), end - begin_at);
  }
}

std::optional<PanelShape> panel_of(const StridedAccesses& columns, uint64_t first, uint64_t count,
                                   uint64_t size, uint64_t copies) {
  if (columns.period <= 0 || count == 0 || size == 0) return std::nullopt;
  const ByteStrips strips = strips_of(columns, first, count, {0, size});
  const auto phase = static_cast<uint64_t>(strips.phase);
  PanelShape shape;
  shape.pitch = strips.period;
  shape.size = size;
  uint64_t alignment = PanelArgument::kAlignment;
  shape.width = row_width(columns, strips.length, alignment);
  if (shape.width > shape.pitch / 2) {
    // Elements are no more aligned than rows of the window are.
    alignment = std::min(alignment, power_in(shape.pitch));
    shape.width = row_width(columns, strips.length, alignment);
  }
  const uint64_t begin = phase / alignment * alignment;
  shape.length = phase - begin + strips.length;
  if (shape.width > shape.pitch / 2) return std::nullopt;
  // A row that reaches into the next period is the window's first one, too.
  const bool wraps = phase + strips.length > shape.pitch;
  shape.begin = static_cast<int64_t>(begin) - (wraps ? strips.period : 0);
  shape.rows = (size - 1) / shape.pitch + 2;
  // Kernels take a multiplication's upper half for a quotient, which is exact so.
  const bool exact = copies * (size + 2 * shape.pitch) < UINT64_MAX / shape.pitch;
  return exact && copies * shape.bytes() < size ? std::optional(shape) : std::nullopt;
}

const Panels::Argument* Panels::find(uint32_t argument) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& one) { return one.argument == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

}  // namespace tutti::scheduler
