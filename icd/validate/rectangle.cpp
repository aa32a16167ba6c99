// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/rectangle.h"

#include <algorithm>
#include <limits>

namespace tutti::icd::validate {
namespace {

constexpr size_t kTooMuch = std::numeric_limits<size_t>::max();

/// a * b + c, or kTooMuch when that is not a size_t.
size_t multiply_add(size_t a, size_t b, size_t c) {
  size_t product = 0;
  size_t sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) {
    return kTooMuch;
  }
  return sum;
}

size_t first_byte(const backends::Rect& rect) {
  return multiply_add(rect.origin[2], rect.slice_pitch,
                      multiply_add(rect.origin[1], rect.row_pitch, rect.origin[0]));
}

size_t slice_bytes(const backends::Rect& rect, const std::array<size_t, 3>& region) {
  return multiply_add(region[1] - 1, rect.row_pitch, region[0]);
}

/// From the first byte to behind the last.
size_t span_bytes(const backends::Rect& rect, const std::array<size_t, 3>& region) {
  return multiply_add(region[2] - 1, rect.slice_pitch, slice_bytes(rect, region));
}

/// Of two runs of `length` that repeat every `pitch` bytes: does each fit into the other's gap?
bool in_the_gap(size_t a, size_t b, size_t length, size_t pitch) {
  return (b >= a + length && b + length <= a + pitch) ||
         (a >= b + length && a + length <= b + pitch);
}

}  // namespace

Result<std::array<size_t, 3>> region_of(const size_t* region) {
  // "CL_INVALID_VALUE if any region array element is 0."
  if (region == nullptr || region[0] == 0 || region[1] == 0 || region[2] == 0) {
    return tutti::fail(CL_INVALID_VALUE, "region is NULL or empty");
  }
  return std::array<size_t, 3>{region[0], region[1], region[2]};
}

Result<backends::Rect> rectangle_of(const RawRect& raw, const std::array<size_t, 3>& region) {
  if (raw.origin == nullptr) return tutti::fail(CL_INVALID_VALUE, "an origin is NULL");
  backends::Rect rect;
  std::copy_n(raw.origin, 3, rect.origin.begin());
  // "CL_INVALID_VALUE if row_pitch is not 0 and is less than region[0]."
  if (raw.row_pitch != 0 && raw.row_pitch < region[0]) {
    return tutti::fail(CL_INVALID_VALUE, "a row pitch is less than a row");
  }
  rect.row_pitch = raw.row_pitch != 0 ? raw.row_pitch : region[0];
  // "CL_INVALID_VALUE if slice_pitch is not 0 and is less than region[1] × row_pitch and not a
  // multiple of row_pitch."
  const size_t least = multiply_add(region[1], rect.row_pitch, 0);
  if (raw.slice_pitch != 0 && (raw.slice_pitch < least || raw.slice_pitch % rect.row_pitch != 0)) {
    return tutti::fail(CL_INVALID_VALUE, "a slice pitch does not fit the region");
  }
  rect.slice_pitch = raw.slice_pitch != 0 ? raw.slice_pitch : least;
  return rect;
}

bool within(const backends::Rect& rect, const std::array<size_t, 3>& region, uint64_t size) {
  // An overflow saturates at a value that no buffer reaches.
  const size_t end = multiply_add(1, first_byte(rect), span_bytes(rect, region));
  return end != kTooMuch && end <= size;
}

bool overlap(const backends::Rect& a, uint64_t a_base, const backends::Rect& b, uint64_t b_base,
             const std::array<size_t, 3>& region) {
  const size_t a_begin = first_byte(a) + a_base;
  const size_t b_begin = first_byte(b) + b_base;
  if (a_begin + span_bytes(a, region) <= b_begin || b_begin + span_bytes(b, region) <= a_begin) {
    return false;
  }
  if (a.row_pitch != b.row_pitch || a.slice_pitch != b.slice_pitch) return true;
  // The specification's appendix "Checking for Memory Copy Overlap".
  const size_t row = a.row_pitch;
  const size_t slice = a.slice_pitch;
  const size_t a_x = a.origin[0] + a_base;
  const size_t b_x = b.origin[0] + b_base;
  if (in_the_gap(a_x % row, b_x % row, region[0], row)) return false;
  return !in_the_gap((a.origin[1] * row + a_x) % slice, (b.origin[1] * row + b_x) % slice,
                     slice_bytes(a, region), slice);
}

}  // namespace tutti::icd::validate
