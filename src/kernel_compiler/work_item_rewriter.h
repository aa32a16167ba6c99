// SPDX-License-Identifier: Apache-2.0
// The sub-range variant of a program: its text with the work-item functions that a sub-range
// launch changes replaced by ones that compute from a hidden argument (compiler_api.h). Works on
// the syntax tree of the preprocessed text; edits text, so everything else stays as written.
// Pure function of its inputs.
#pragma once

#include <cstdint>
#include <set>
#include <string>

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
};

/// `language` as 120: older versions know no static functions.
RewriteResult rewrite_work_items(clang::ASTContext& context, uint32_t language);

}  // namespace tutti::kernel_compiler
