// SPDX-License-Identifier: Apache-2.0
// The sub-range variant of a program: its text with the work-item functions that a sub-range
// launch changes replaced by ones that compute from a hidden argument (compiler_api.h); and its
// shard and panel variants, whose kernels' pointer arguments lead elsewhere besides. Works on the
// syntax tree of the preprocessed text; edits text, so everything else stays as written. Pure
// function of its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace clang {
class ASTContext;
}

namespace tutti::kernel_compiler {

struct RewriteResult {
  std::set<std::string> kernels;  // that need the variant
  std::string text;               // empty where no kernel needs it, or on failure
  std::string failure;            // non-empty: why the text cannot be rewritten
  /// The whole launch's variant, where it had to be changed as well: sizes asked for a dimension
  /// that is not a constant below 3. Empty otherwise.
  std::string untouched;
  /// With Shards::kYes: by kernel, the arguments that are shifted (KernelSummary::shard_arguments).
  std::map<std::string, uint32_t> shards;
  /// With Shards::kPanels: by kernel, those that may be panels (KernelSummary::panel_arguments).
  std::map<std::string, uint32_t> panels;
};

/// kYes: pointer arguments are shifted by what the hidden argument of shard_argument.h says, and
/// the text is there where any kernel has such arguments. Of a whole program.
/// kPanels: besides, the elements of arguments that are used by subscripts alone are where the one
/// of panel_argument.h says.
enum class Shards : uint8_t { kNo, kYes, kPanels };

/// What a translation unit must know of those that it will be linked with.
struct LinkScope {
  /// Functions with external linkage that take the hidden argument somewhere (as in LLVM IR); they
  /// take it everywhere.
  std::set<std::string> affected;
};

/// `language` as 120: older versions know no static functions. `scope`: null for a whole program.
RewriteResult rewrite_work_items(clang::ASTContext& context, uint32_t language,
                                 const LinkScope* scope = nullptr, Shards shards = Shards::kNo);

/// Who calls whom in a translation unit. Functions with external linkage are named as in LLVM IR,
/// others as "unit:" and their name; the functions that a sub-range launch changes are "".
struct NamedCall {
  std::string caller;
  std::string callee;
};
std::vector<NamedCall> named_calls(clang::ASTContext& context, const std::string& unit);

}  // namespace tutti::kernel_compiler
