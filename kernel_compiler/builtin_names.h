// SPDX-License-Identifier: Apache-2.0
// OpenCL C's built-in functions, told by their (Itanium-mangled) names in LLVM IR. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

/// A mangled name taken apart: "_Z3minjj" is {"min", "jj"}; other names have no parameters.
struct BuiltinName {
  std::string_view base;
  std::string_view parameters;
};
BuiltinName split_mangled(std::string_view name);

/// The element type of a scalar, vector or pointer parameter, as its mangling tells it.
struct ElementType {
  uint32_t bytes = 0;  // of one lane
  uint32_t lanes = 1;
  bool is_unsigned = false;
  bool is_float = false;
  /// Bytes from one element to the next in memory: three lanes take the place of four.
  uint32_t stride() const { return bytes * (lanes == 3 ? 4 : lanes); }
};
/// Of the first parameter; empty when it is none of OpenCL's arithmetic types.
std::optional<ElementType> first_parameter_type(std::string_view parameters);

enum class BuiltinClass {
  kValue,          // computes a value from values, touching at most private and local memory
  kWorkItem,       // get_global_id and its kin
  kBarrier,        // synchronises the work-group, or a sub-group
  kFence,          // orders memory, possibly between work-groups
  kAsyncCopy,      // async_work_group_copy, async_work_group_strided_copy
  kNoAccess,       // pointer arguments, but nothing that a summary has to say (prefetch …)
  kAtomic,         // OpenCL 1.x atomic_… and atom_…, 2.0 atomic_fetch_… and the like
  kPointerResult,  // math with a second result through a pointer: fract, sincos …
  kPrintf,
  kUnknown,  // not an OpenCL built-in that we know
};
BuiltinClass classify_builtin(std::string_view base);

/// The leaf that a work-item function yields, if it is one per dimension; `default_value` is its
/// value for dimensions above 2.
struct WorkItemLeaf {
  scheduler::ExprKind kind;
  int64_t default_value;
};
std::optional<WorkItemLeaf> work_item_leaf(std::string_view base);

/// Whether a sub-range launch changes what the function returns, so that calls are rewritten.
bool changes_in_sub_range(std::string_view base);

}  // namespace tutti::kernel_compiler
