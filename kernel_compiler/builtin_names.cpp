// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/builtin_names.h"

#include <algorithm>
#include <array>

namespace tutti::kernel_compiler {
namespace {

using scheduler::ExprKind;
using std::string_view;

bool digit(char c) { return c >= '0' && c <= '9'; }

template <size_t N>
bool one_of(string_view name, const std::array<string_view, N>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool scalar_type(string_view text, ElementType& type) {
  if (text.starts_with("Dh")) {
    type.bytes = 2;
    type.is_float = true;
    return true;
  }
  if (text.empty()) {
    return false;
  }
  switch (text.front()) {
    case 'h':
      type.is_unsigned = true;
      [[fallthrough]];
    case 'c':
    case 'a':
      type.bytes = 1;
      return true;
    case 't':
      type.is_unsigned = true;
      [[fallthrough]];
    case 's':
      type.bytes = 2;
      return true;
    case 'j':
      type.is_unsigned = true;
      [[fallthrough]];
    case 'i':
      type.bytes = 4;
      return true;
    case 'm':
      type.is_unsigned = true;
      [[fallthrough]];
    case 'l':
      type.bytes = 8;
      return true;
    case 'f':
      type.bytes = 4;
      type.is_float = true;
      return true;
    case 'd':
      type.bytes = 8;
      type.is_float = true;
      return true;
    default:
      return false;
  }
}

}  // namespace

BuiltinName split_mangled(string_view name) {
  if (!name.starts_with("_Z")) {
    return {name, {}};
  }
  size_t at = 2;
  size_t length = 0;
  while (at < name.size() && digit(name[at]) && length < name.size()) {
    length = length * 10 + static_cast<size_t>(name[at++] - '0');
  }
  if (length == 0 || at + length > name.size()) {
    return {name, {}};
  }
  return {name.substr(at, length), name.substr(at + length)};
}

std::optional<ElementType> first_parameter_type(string_view parameters) {
  ElementType type;
  // P, U<n>ASn (address space), U7_Atomic, K, V come before the type itself.
  for (;;) {
    if (parameters.starts_with('P') || parameters.starts_with('K') || parameters.starts_with('V')) {
      parameters.remove_prefix(1);
    } else if (parameters.starts_with('U')) {
      size_t at = 1;
      size_t length = 0;
      while (at < parameters.size() && digit(parameters[at]) && length < 100) {
        length = length * 10 + static_cast<size_t>(parameters[at++] - '0');
      }
      if (length == 0 || at + length > parameters.size()) {
        return std::nullopt;
      }
      parameters.remove_prefix(at + length);
    } else {
      break;
    }
  }
  if (parameters.starts_with("Dv")) {
    parameters.remove_prefix(2);
    uint32_t lanes = 0;
    while (!parameters.empty() && digit(parameters.front()) && lanes < 100) {
      lanes = lanes * 10 + static_cast<uint32_t>(parameters.front() - '0');
      parameters.remove_prefix(1);
    }
    if (!parameters.starts_with('_') || lanes < 2 || lanes > 16) {
      return std::nullopt;
    }
    parameters.remove_prefix(1);
    type.lanes = lanes;
  }
  if (!scalar_type(parameters, type)) {
    return std::nullopt;
  }
  return type;
}

BuiltinClass classify_builtin(string_view base) {
  static constexpr std::array<string_view, 4> kBarriers = {
      "barrier", "work_group_barrier", "sub_group_barrier", "wait_group_events"};
  static constexpr std::array<string_view, 4> kFences = {
      "mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence"};
  static constexpr std::array<string_view, 2> kCopies = {"async_work_group_copy",
                                                         "async_work_group_strided_copy"};
  static constexpr std::array<string_view, 6> kPointerResults = {"fract", "modf",   "sincos",
                                                                 "frexp", "remquo", "lgamma_r"};
  if (work_item_leaf(base) || base == "get_work_dim" || base == "get_global_linear_id" ||
      base == "get_local_linear_id" || base == "get_enqueued_local_size") {
    return BuiltinClass::kWorkItem;
  }
  if (one_of(base, kBarriers)) {
    return BuiltinClass::kBarrier;
  }
  if (one_of(base, kFences)) {
    return BuiltinClass::kFence;
  }
  if (one_of(base, kCopies)) {
    return BuiltinClass::kAsyncCopy;
  }
  if (one_of(base, kPointerResults)) {
    return BuiltinClass::kPointerResult;
  }
  if (base == "prefetch") {
    return BuiltinClass::kNoAccess;
  }
  if (base.starts_with("atomic_") || base.starts_with("atom_")) {
    return BuiltinClass::kAtomic;
  }
  if (base == "printf") {
    return BuiltinClass::kPrintf;
  }
  if (base.starts_with("work_group_")) {
    return BuiltinClass::kBarrier;  // collective functions synchronise, too
  }
  if (base == "__translate_sampler_initializer") {
    return BuiltinClass::kValue;
  }
  // Pipes, device-side enqueue and whatever else a compiler calls by reserved names.
  return base.starts_with("__") ? BuiltinClass::kUnknown : BuiltinClass::kValue;
}

std::optional<WorkItemLeaf> work_item_leaf(string_view base) {
  struct Row {
    string_view name;
    WorkItemLeaf leaf;
  };
  // Defaults: OpenCL C 3.0, section 6.15.1.
  static constexpr std::array<Row, 7> kRows = {{
      {"get_global_id", {ExprKind::kGlobalId, 0}},
      {"get_local_id", {ExprKind::kLocalId, 0}},
      {"get_group_id", {ExprKind::kGroupId, 0}},
      {"get_global_size", {ExprKind::kGlobalSize, 1}},
      {"get_local_size", {ExprKind::kLocalSize, 1}},
      {"get_num_groups", {ExprKind::kNumGroups, 1}},
      {"get_global_offset", {ExprKind::kGlobalOffset, 0}},
  }};
  for (const Row& row : kRows) {
    if (row.name == base) {
      return row.leaf;
    }
  }
  return std::nullopt;
}

bool changes_in_sub_range(string_view base) {
  static constexpr std::array<string_view, 5> kChanged = {"get_group_id", "get_num_groups",
                                                          "get_global_size", "get_global_offset",
                                                          "get_global_linear_id"};
  return one_of(base, kChanged);
}

}  // namespace tutti::kernel_compiler
