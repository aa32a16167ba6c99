// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/function_bodies.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::kernel_compiler {
namespace {

/// Blanks `text` from `begin` to before `end`, but for the ends of lines and the marks that say
/// which lines follow.
void blank(std::string& text, size_t begin, size_t end) {
  constexpr std::string_view kMark = "#line ";
  for (size_t at = begin; at < end; ++at) {
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    if (begins_line && text.compare(at, kMark.size(), kMark) == 0) {
      at = std::min(end, text.find('\n', at));
    } else if (text[at] != '\n') {
      text[at] = ' ';
    }
  }
}

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
    if (!location.isValid() || !location.isFileID()) return std::nullopt;
    if (sources_.getFileID(location) != sources_.getMainFileID()) return std::nullopt;
    const size_t offset = sources_.getFileOffset(location);
    return offset < text_.size() ? std::optional(offset) : std::nullopt;
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
