// SPDX-License-Identifier: Apache-2.0
// Sets of bytes that occur: a range, or equal strips at equal distances. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::scheduler {

/// Half-open byte range; empty when begin == end.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool empty() const { return begin >= end; }
  uint64_t size() const { return empty() ? 0 : end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// The bytes of `range` that lie in [phase + k·period, phase + k·period + length) for some integer
/// k; with period 0 all of them. Positions are below 2^62.
struct ByteStrips {
  ByteRange range;
  int64_t phase = 0;
  uint64_t period = 0;
  uint64_t length = 0;  // 0 < length ≤ period where there is a period

  bool empty() const { return range.empty(); }
  bool strided() const { return period != 0; }
  /// Strips that reach into the range; 1 without a period.
  uint64_t count() const {
    if (empty()) return 0;
    return strided() ? static_cast<uint64_t>(index_of(range.end - 1) - index_of(range.begin)) + 1
                     : 1;
  }
  /// Bytes in all strips.
  uint64_t size() const {
    return strided() && !empty() ? bytes_below(range.end) - bytes_below(range.begin) : range.size();
  }
  /// Calls visit(begin, end) for each strip within [from, to), ascending.
  template <typename Visit>
  void for_each_in(uint64_t from, uint64_t to, Visit&& visit) const {
    from = std::max(from, range.begin);
    to = std::min(to, range.end);
    if (from >= to) return;
    if (!strided()) {
      visit(from, to);
      return;
    }
    for (int64_t at = phase + index_of(from) * static_cast<int64_t>(period);
         at < static_cast<int64_t>(to); at += static_cast<int64_t>(period)) {
      const auto begin = static_cast<uint64_t>(std::max(at, static_cast<int64_t>(from)));
      const auto end = static_cast<uint64_t>(
          std::clamp(at + static_cast<int64_t>(length), int64_t{0}, static_cast<int64_t>(to)));
      if (begin < end) visit(begin, end);
    }
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for_each_in(range.begin, range.end, visit);
  }
  ByteStrips moved(uint64_t by) const {
    return {{range.begin + by, range.end + by}, phase + static_cast<int64_t>(by), period, length};
  }
  bool operator==(const ByteStrips&) const = default;

 private:
  /// Of the strip that begins at or before `position`.
  int64_t index_of(uint64_t position) const {
    const int64_t distance = static_cast<int64_t>(position) - phase;
    const auto step = static_cast<int64_t>(period);
    return distance >= 0 ? distance / step : -((step - 1 - distance) / step);
  }
  /// Of all strips from the one of number 0 on.
  uint64_t bytes_below(uint64_t position) const {
    const int64_t index = index_of(position);
    const int64_t within =
        static_cast<int64_t>(position) - phase - index * static_cast<int64_t>(period);
    return static_cast<uint64_t>(index) * length + std::min(static_cast<uint64_t>(within), length);
  }
};

/// Accesses to one window that repeat: slice s touches only bytes x of the window with
/// x mod period in [step·s + begin, step·s + end) mod period. If they are writes, these differ for
/// two slices.
struct StridedAccesses {
  int64_t period = 0;  // 0: not strided
  int64_t step = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// No byte is in both. Strips of different periods count as their whole ranges.
inline bool apart(const ByteStrips& a, const ByteStrips& b) {
  if (std::max(a.range.begin, b.range.begin) >= std::min(a.range.end, b.range.end)) return true;
  if (!a.strided() || a.period != b.period) return false;
  const auto period = static_cast<int64_t>(a.period);
  const auto distance = static_cast<uint64_t>(((b.phase - a.phase) % period + period) % period);
  return distance >= a.length && distance + b.length <= a.period;
}

/// Makes one of strips that lie beside each other in every period, or of ranges one behind the
/// other. False: `next` is none such.
inline bool join(ByteStrips& strips, const ByteStrips& next) {
  if (strips.period != next.period || strips.empty() || next.empty()) return false;
  if (!strips.strided()) {
    if (strips.range.end != next.range.begin) return false;
    strips.range.end = next.range.end;
    return true;
  }
  const auto whole = [](const ByteStrips& some) {
    const auto begin = static_cast<int64_t>(some.range.begin) - some.phase;
    const auto end = static_cast<int64_t>(some.range.end - some.length) - some.phase;
    const auto period = static_cast<int64_t>(some.period);
    return some.range.size() >= some.length && begin % period == 0 && end % period == 0;
  };
  if (!whole(strips) || !whole(next) || strips.length + next.length > strips.period ||
      strips.range.begin + strips.length != next.range.begin ||
      strips.range.end + next.length != next.range.end) {
    return false;
  }
  strips.length += next.length;
  strips.range.end = next.range.end;
  return true;
}

/// Calls visit(ByteStrips) for sets that lie apart, and hold together what is in both; of strips of
/// different periods for nothing.
template <typename Visit>
void for_each_common(const ByteStrips& a, const ByteStrips& b, Visit&& visit) {
  ByteStrips common = a.strided() ? a : b;
  common.range = {std::max(a.range.begin, b.range.begin), std::min(a.range.end, b.range.end)};
  if (common.empty()) return;
  if (!a.strided() || !b.strided()) return visit(common);
  if (a.period != b.period) return;
  const auto period = static_cast<int64_t>(a.period);
  // Where b's strips begin behind a's; what reaches into the next period is a strip at its begin.
  const auto distance = static_cast<uint64_t>(((b.phase - a.phase) % period + period) % period);
  if (distance < a.length) {
    common.phase = a.phase + static_cast<int64_t>(distance);
    common.length = std::min(a.length - distance, b.length);
    visit(common);
  }
  if (distance + b.length > a.period) {
    common.phase = a.phase;
    common.length = std::min(distance + b.length - a.period, a.length);
    visit(common);
  }
}

}  // namespace tutti::scheduler
