// SPDX-License-Identifier: Apache-2.0
// The hidden last argument of a kernel's shard variant, behind that of the sub-range variant where
// there is one: a `ulong16` by value that says how many bytes of what a pointer argument shows lie
// before the memory that the kernel gets for it. Written here, read by the code that
// kernel_compiler's rewriter puts into the kernel. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scheduler/access/ulong16_argument.h"

namespace tutti::scheduler {

/// s[i]: of argument i. Later arguments are not shifted, nor those that the variant leaves as they
/// are.
class ShardArgument : public Ulong16Argument {
 public:
  static constexpr size_t kArguments = 16;

  /// `shifted`: KernelSummary::shard_arguments.
  explicit ShardArgument(uint32_t shifted = 0) : shifted_(shifted) {}

  /// False: the variant does not shift that argument.
  bool set(size_t argument, uint64_t before) {
    if (argument >= kArguments || (shifted_ >> argument & 1) == 0) return before == 0;
    s_[argument] = before;
    return true;
  }

 private:
  uint32_t shifted_ = 0;
};
static_assert(ShardArgument::kArguments * sizeof(uint64_t) == ShardArgument::kBytes);

}  // namespace tutti::scheduler
