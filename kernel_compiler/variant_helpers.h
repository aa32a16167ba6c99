// SPDX-License-Identifier: Apache-2.0
// The functions that rewritten variants of a program call, as text. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace tutti::kernel_compiler {

/// What the work-item function answers for dimensions that a launch does not have; empty for
/// functions that are not asked by dimension.
std::optional<int64_t> default_answer(const std::string& name);

/// Functions that ask for a dimension which is no constant, or does not exist: "__tutti_any_" and
/// the name. `language` as 120, here and below.
std::string guards(const std::set<std::string>& used, uint32_t language);

/// Of the functions that the sub-range variant replaces those that are used, "__tutti_" and the
/// name. The dimension is evaluated once, may be any expression, and may be out of range (then the
/// specification's defaults).
std::string prelude(const std::set<std::string>& used, uint32_t language);

/// "__tutti_at": the byte of a panel's memory where one of the argument lies (panel_argument.h).
std::string panel_helper(uint32_t language);

}  // namespace tutti::kernel_compiler
