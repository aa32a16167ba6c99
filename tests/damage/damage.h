// SPDX-License-Identifier: Apache-2.0
// Random damage of bytes, numbers and texts. The same seed makes the same damage everywhere. Used
// by one thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tutti::damage {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t bits() { return engine_(); }
  /// Below `end`, which is not 0.
  uint64_t below(uint64_t end) { return engine_() % end; }
  bool one_in(uint64_t times) { return below(times) == 0; }
  template <typename T>
  T& one_of(std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

/// Near a limit, or near `value`.
uint64_t odd_number(Random& random, uint64_t value);
/// Escape sequences, controls, marks of direction, what is not UTF-8, nothing, or a lot.
std::string odd_text(Random& random);
/// Some bits, bytes, blocks or the end are others.
void damage_bytes(Random& random, std::string& bytes);

}  // namespace tutti::damage
