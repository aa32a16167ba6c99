// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/content_values.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace tutti::scheduler {
namespace {

using affine::Interval;
using affine::Wide;

constexpr uint64_t kBlock = 32;  // numbers

/// Numbers of 64 unsigned bits are kept as signed ones that are as much smaller.
constexpr Wide shift_of(const ContentBounds& kind) {
  return kind.width == 64 && !kind.is_signed ? Wide{1} << 63 : Wide{0};
}

template <typename Number>
std::pair<int64_t, int64_t> extremes_of(std::span<const std::byte> bytes) {
  Number least = std::numeric_limits<Number>::max(), largest = std::numeric_limits<Number>::min();
  for (size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof(Number));
    least = std::min(least, number);
    largest = std::max(largest, number);
  }
  if constexpr (std::is_same_v<Number, uint64_t>) {
    constexpr uint64_t kShift = uint64_t{1} << 63;
    return {static_cast<int64_t>(least ^ kShift), static_cast<int64_t>(largest ^ kShift)};
  } else {
    return {static_cast<int64_t>(least), static_cast<int64_t>(largest)};
  }
}

std::pair<int64_t, int64_t> extremes_of(const ContentBounds& kind,
                                        std::span<const std::byte> bytes) {
  if (kind.width == 64) {
    return kind.is_signed ? extremes_of<int64_t>(bytes) : extremes_of<uint64_t>(bytes);
  }
  return kind.is_signed ? extremes_of<int32_t>(bytes) : extremes_of<uint32_t>(bytes);
}

}  // namespace

void ContentValues::add(uint32_t argument, const ContentBounds& kind,
                        std::span<const std::byte> bytes) {
  const uint64_t block = kBlock * (kind.width / 8);
  const uint64_t blocks = (bytes.size() + block - 1) / block;
  Tree& tree = trees_[key(argument, kind)];
  tree.assign(2 * blocks, {});
  for (uint64_t i = 0; i < blocks; ++i) {
    const auto [least, largest] = extremes_of(
        kind, bytes.subspan(i * block, std::min<uint64_t>(block, bytes.size() - i * block)));
    tree[blocks + i] = {least, largest};
  }
  for (uint64_t i = blocks; i-- > 1;) {
    tree[i] = {std::min(tree[2 * i].least, tree[2 * i + 1].least),
               std::max(tree[2 * i].largest, tree[2 * i + 1].largest)};
  }
}

void ContentValues::guess(uint32_t argument, const ContentBounds& kind, uint64_t size,
                          uint64_t reached) {
  const Wide largest = (Wide{reached} - kind.added) / kind.scale;
  guesses_[key(argument, kind)] = {size, static_cast<uint64_t>(std::max(largest, Wide{0}))};
}

Interval ContentValues::within(uint32_t argument, const ContentBounds& kind,
                               const ByteRange& range) const {
  if (const auto guess = guesses_.find(key(argument, kind)); guess != guesses_.end()) {
    const auto& [size, largest] = guess->second;
    return {Wide{largest} * range.begin / size, (Wide{largest} * range.end + size - 1) / size};
  }
  const auto found = trees_.find(key(argument, kind));
  if (found == trees_.end()) return {};
  const Tree& tree = found->second;
  const uint64_t block = kBlock * (kind.width / 8), blocks = tree.size() / 2;
  uint64_t begin = blocks + std::min(range.begin / block, blocks);
  uint64_t end = blocks + std::min((range.end + block - 1) / block, blocks);
  if (range.empty() || begin >= end) return {0, -1};
  Extremes all = tree[begin];
  const auto take = [&](uint64_t i) {
    all = {std::min(all.least, tree[i].least), std::max(all.largest, tree[i].largest)};
  };
  for (; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 == 1) take(begin++);
    if (end % 2 == 1) take(--end);
  }
  return {Wide{all.least} + shift_of(kind), Wide{all.largest} + shift_of(kind)};
}

}  // namespace tutti::scheduler
