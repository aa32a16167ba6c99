// SPDX-License-Identifier: Apache-2.0
// What a recorded call was given, where it may be damaged: what is missing, or of another type,
// counts as nothing. Pure functions.
#pragma once

#include <limits>
#include <string>

#include "record/call.h"

namespace tutti::tools {

inline record::Object object_at(const record::Call& call, size_t index) {
  return index < call.arguments.size() && call.arguments[index].type == record::Value::Type::kObject
             ? call.arguments[index].objects.front()
             : record::Object{};
}

inline uint64_t number_at(const record::Call& call, size_t index) {
  return index < call.arguments.size() ? call.arguments[index].number : 0;
}

/// The largest number where it would be larger.
inline uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<uint64_t>::max() : result;
}

/// Of the three numbers of a region.
inline uint64_t product_at(const record::Call& call, size_t index) {
  if (index >= call.arguments.size() || call.arguments[index].numbers.size() != 3) return 0;
  const auto& numbers = call.arguments[index].numbers;
  return product(product(numbers[0], numbers[1]), numbers[2]);
}

/// The bytes that the call reads behind one of its pointers, and which argument that is.
struct ReadData {
  size_t argument = SIZE_MAX;  // none
  uint64_t bytes = 0;
};
/// `pixel`: bytes of a pixel of the image that the call writes.
ReadData read_data(const record::Call& call, size_t pixel);

/// Rows that a call writes from lie packed, as they are recorded.
void pack_rows(record::Call& call);

/// Why the call must not be made: it would read beyond what is recorded, or ask for more memory
/// than `most_bytes`. Empty: it may.
std::string data_problem(const record::Call& call, size_t pixel, uint64_t most_bytes);

}  // namespace tutti::tools
