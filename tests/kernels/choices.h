// SPDX-License-Identifier: Apache-2.0
// The list of numbers that a random kernel is made of. Generating draws and records them; replaying
// takes them from the list, and 0, the simplest choice, when it is used up: so lists can be cut and
// lowered, and what they make becomes simpler. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tutti::kernel_fuzz {

class Choices {
 public:
  /// Draws from a seed.
  explicit Choices(uint64_t seed) : random_(seed), drawing_(true) {}
  /// Replays.
  explicit Choices(std::vector<uint32_t> list) : list_(std::move(list)) {}

  /// 0 … below − 1.
  uint32_t pick(uint32_t below) {
    if (below < 2) return 0;
    if (drawing_) list_.push_back(static_cast<uint32_t>(random_() % below));
    return next_ < list_.size() ? list_[next_++] % below : 0;
  }
  bool chance(uint32_t percent) { return pick(100) >= 100 - percent; }

  /// What was drawn so far.
  const std::vector<uint32_t>& list() const { return list_; }

 private:
  std::vector<uint32_t> list_;
  size_t next_ = 0;
  std::mt19937_64 random_;
  bool drawing_ = false;
};

}  // namespace tutti::kernel_fuzz
