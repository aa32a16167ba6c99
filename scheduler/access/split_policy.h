// SPDX-License-Identifier: Apache-2.0
// What the user trusts programs with, or allows a split to change; and what the launch has to put
// up with. Plain data.
#pragma once

namespace tutti::scheduler {

struct SplitPolicy {
  bool distrust_races = false;  // plain reads and writes of different packages may meet
  bool float_sums = false;      // floating-point sums may be formed in any order
  // Atomics whose results are used may be reached often: one device is to compute all packages.
  bool frequent_atomics = false;
};

}  // namespace tutti::scheduler
