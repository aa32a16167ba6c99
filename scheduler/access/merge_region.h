// SPDX-License-Identifier: Apache-2.0
// Parts of buffers that a split launch writes in a way that cannot be told apart by package, and
// how the devices' results there become one. Plain data, made by the verdict, used by exec/merge.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

/// Ascending by what they cost; a launch has the mode of its costliest argument.
enum class MergeMode : uint8_t {
  kDisjoint,  // packages' writes are proven apart: nothing to merge
  kAtomic,    // one kind of atomic with unused results: copies are combined by that operator
  kDiff,      // plain scattered stores: what each device changed is taken over
  kWhole,     // one device
};
const char* merge_mode_name(MergeMode mode);

/// The operator that combines copies. Adding, subtracting, incrementing and decrementing are sums
/// of what each device added, modulo 2^width; those with an F are of floating-point numbers.
enum class MergeOperator : uint8_t {
  kSum,
  kXor,
  kAnd,
  kOr,
  kMin,
  kMax,
  kUMin,
  kUMax,
  kFSum,
  kFMin,
  kFMax
};

struct MergeRegion {
  MergeMode mode = MergeMode::kDiff;  // kAtomic or kDiff
  MergeOperator op = MergeOperator::kSum;
  // Bytes: of one atomic; of what is stored at once, so that a merge takes whole elements over. A
  // power of two that divides the range's begin within the root buffer.
  uint32_t unit = 1;
  std::vector<uint32_t> arguments;  // that reach into it, ascending; kAtomic: all see one window
  ByteRange range;                  // of the root buffer
  // kDiff: at most one place may change it. Where several did, one of them computes the others'
  // packages once more, and what they wrote is dropped.
  bool alone = false;
  bool operator==(const MergeRegion&) const = default;
};

}  // namespace tutti::scheduler
