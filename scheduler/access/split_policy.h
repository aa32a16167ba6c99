// SPDX-License-Identifier: Apache-2.0
// What the user trusts programs with, or allows a split to change. Plain data.
#pragma once

namespace tutti::scheduler {

struct SplitPolicy {
  bool distrust_races = false;  // plain reads and writes of different packages may meet
  bool float_sums = false;      // floating-point sums may be formed in any order
};

}  // namespace tutti::scheduler
