// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/function_bodies.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/SourceManager.h>

#include <optional>
#include <utility>
#include <vector>

#include "kernel_compiler/source_ranges.h"

namespace tutti::kernel_compiler {
namespace {

class Bodies {
 public:
  Bodies(const clang::ASTContext& context, const std::string& text)
      : sources_(context.getSourceManager()), text_(text) {
    for (const clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
      if (function != nullptr && function->doesThisDeclarationHaveABody()) add(*function);
    }
  }

  /// Empty where one was not found.
  std::string removed() const {
    if (lost_) return {};
    std::string text = text_;
    for (const auto& [begin, end] : ranges_) blank(text, begin, end);
    return text;
  }

 private:
  void add(const clang::FunctionDecl& function) {
    const auto begin = offset(function.getBody()->getBeginLoc());
    const auto end = offset(function.getBody()->getEndLoc());
    if (!begin || !end || *begin >= *end || text_[*begin] != '{' || text_[*end] != '}') {
      lost_ = true;
    } else if (!function.isInvalidDecl()) {
      ranges_.emplace_back(*begin + 1, *end);
    } else if (const auto all = offset(function.getBeginLoc());
               all && *all < *begin && !function.hasAttr<clang::OpenCLKernelAttr>()) {
      ranges_.emplace_back(*all, *end + 1);
    } else {
      lost_ = true;
    }
  }

  std::optional<size_t> offset(clang::SourceLocation location) const {
    return offset_of(sources_, text_, location);
  }

  const clang::SourceManager& sources_;
  const std::string& text_;
  std::vector<std::pair<size_t, size_t>> ranges_;
  bool lost_ = false;
};

}  // namespace

std::string without_bodies(const FrontEndSettings& settings, const std::string& text) {
  std::string log, declarations;
  const auto visit = [&](clang::ASTContext& tree) { declarations = Bodies(tree, text).removed(); };
  const bool compiles = check(settings, text, log, visit, /*with_errors=*/true);
  return compiles ? std::string() : declarations;
}

}  // namespace tutti::kernel_compiler
