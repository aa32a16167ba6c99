// SPDX-License-Identifier: Apache-2.0
// What it takes until one program is ready on several devices, by what it takes on each. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::device_virtual {

class BuildPrice {
 public:
  /// First launches, beside builds: PoCL compiles once more for each local size, one device after
  /// the other.
  static constexpr double kFirstLaunch = 0.5;

  explicit BuildPrice(uint32_t processors) : processors_(std::max(processors, 1u)) {}

  /// A device builds it in so many seconds; `beside`: meanwhile others build, a processor each.
  void add(double seconds, bool beside) {
    first_launches_ += kFirstLaunch * seconds;
    if (beside) {
      ++beside_;
      longest_ = std::max(longest_, seconds);
    } else {
      in_turn_ += seconds;
    }
  }

  double seconds() const {
    const uint32_t rounds = (beside_ + processors_ - 1) / processors_;
    return in_turn_ + rounds * longest_ + first_launches_;
  }

 private:
  const uint32_t processors_;
  uint32_t beside_ = 0;  // devices
  double in_turn_ = 0, longest_ = 0, first_launches_ = 0;
};

}  // namespace tutti::device_virtual
