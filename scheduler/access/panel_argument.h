// SPDX-License-Identifier: Apache-2.0
// The hidden last argument of a kernel's panel variant, behind that of shard_argument.h: a
// `ulong16` by value that says of each argument that may be a panel how its rows lie. Written here,
// read by the code that kernel_compiler's rewriter puts into the kernel. A plain value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "scheduler/access/ulong16_argument.h"

namespace tutti::scheduler {

/// Of the n-th argument that may be one: s[3n] the distance of rows in what the argument shows,
/// s[3n + 1] in the panel, in bytes, s[3n + 2] 2^64 / s[3n], rounded up; all 0: it is none. What
/// lies before its first row is the shard argument's.
class PanelArgument : public Ulong16Argument {
 public:
  static constexpr size_t kArguments = 5;
  /// Rows of a panel begin at multiples of so many bytes, OpenCL's largest type, or of the largest
  /// power of 2 in their distance: elements whose size is a power of 2 up to that lie in them
  /// whole.
  static constexpr uint64_t kAlignment = 128;

  /// `may`: KernelSummary::panel_arguments.
  explicit PanelArgument(uint32_t may = 0) : may_(may) {}

  /// `pitch` > 1. False: the variant has no panel of that argument.
  bool set(size_t argument, uint64_t pitch, uint64_t width) {
    if (argument >= 32 || (may_ >> argument & 1) == 0) return false;
    const auto n = static_cast<size_t>(std::popcount(may_ & ((uint32_t{1} << argument) - 1)));
    if (n >= kArguments) return false;
    s_[3 * n] = pitch;
    s_[3 * n + 1] = width;
    s_[3 * n + 2] = UINT64_MAX / pitch + 1;
    return true;
  }

 private:
  uint32_t may_ = 0;
};

}  // namespace tutti::scheduler
