// SPDX-License-Identifier: Apache-2.0
// What the split rule and its parts answer, and the words that they share. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/access/access_use.h"
#include "scheduler/access/merge_region.h"
#include "scheduler/access/split_policy.h"

namespace tutti::scheduler {

struct SplitAnswer {
  MergeMode mode = MergeMode::kWhole;
  std::string reason;                    // in words, either way
  uint32_t line = 0;                     // of the source that forbids it, 0 = none
  std::vector<StridedAccesses> strided;  // per window of the launch; empty: none is
  std::vector<MergeRegion> regions;      // kAtomic and kDiff
  bool alone = false;                    // kDiff: some region is; then everything written is in one

  bool split() const { return mode != MergeMode::kWhole; }
};

inline std::string quoted(const KernelSummary& summary, uint32_t argument) {
  const std::string& name = summary.arguments[argument].name;
  return name.empty() ? "number " + std::to_string(argument) : "'" + name + "'";
}
inline std::string quoted(const EvaluatedLaunch& launch, const AccessUse& use) {
  return quoted(*launch.summary, use.access->argument);
}

/// " (line 7)"; nothing for 0.
inline std::string in_line(uint32_t line) {
  return line != 0 ? " (line " + std::to_string(line) + ")" : std::string();
}

inline SplitAnswer whole_because(std::string reason, uint32_t line) {
  SplitAnswer answer;
  answer.reason = std::move(reason) + in_line(line);
  answer.line = line;
  return answer;
}

/// The bytes of its window that a use may touch in the whole launch; all where that is not known.
inline ByteRange launch_range(const EvaluatedLaunch& launch, const AccessUse& use) {
  const uint64_t size = launch.windows[use.window].size;
  if (!use.bounded) return {0, size};
  const affine::Wide begin = std::max(use.launch.lo, affine::Wide{0});
  const affine::Wide end = std::min(use.launch.hi + use.access->size, affine::Wide{size});
  if (begin >= end) return {};
  return {static_cast<uint64_t>(begin), static_cast<uint64_t>(end)};
}

}  // namespace tutti::scheduler
