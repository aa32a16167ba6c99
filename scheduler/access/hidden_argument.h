// SPDX-License-Identifier: Apache-2.0
// The hidden last argument of a kernel's sub-range variant: one `ulong16` by value, through which a
// package knows the whole launch. Written here, read by the code that kernel_compiler's rewriter
// puts into the kernel. A plain value.
#pragma once

#include <cstdint>

#include "scheduler/access/ulong16_argument.h"

namespace tutti::scheduler {

/// s[0..2]  first group id of this package in the whole launch, per dimension
/// s[3..5]  number of groups of the whole launch
/// s[6..8]  global size of the whole launch
/// s[9..11] the application's global offset
/// s[12]    work dimensions; the rest is zero.
class HiddenArgument : public Ulong16Argument {
 public:
  void set_launch(uint32_t dimension, uint64_t groups, uint64_t global, uint64_t offset) {
    s_[3 + dimension] = groups;
    s_[6 + dimension] = global;
    s_[9 + dimension] = offset;
  }
  void set_dimensions(uint32_t dims) { s_[12] = dims; }
  void set_first_group(uint32_t dimension, uint64_t group) { s_[dimension] = group; }
};

}  // namespace tutti::scheduler
