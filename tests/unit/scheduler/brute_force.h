// SPDX-License-Identifier: Apache-2.0
// Executes an access summary work-item by work-item, as the reference for its evaluation. Values
// that the summary leaves open (unknown values, choices, accesses that may be skipped) are drawn at
// random.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "scheduler/access/access_eval.h"

namespace tutti::scheduler::test {

struct Touch {
  uint32_t access = 0;  // index into the summary's accesses
  std::array<uint64_t, 3> group{};
  uint64_t begin = 0;  // within the argument's window
  uint64_t end = 0;
};

struct Execution {
  std::vector<Touch> touches;  // wholly inside the window: others are never executed
  std::vector<Touch> cut;      // what lies inside of those that are partly outside
  bool undefined = false;      // an expression had no value (division by zero …)
};

Execution execute(const KernelSummary& summary, const LaunchShape& shape,
                  const std::vector<ArgumentValue>& arguments, std::mt19937_64& random);

}  // namespace tutti::scheduler::test
