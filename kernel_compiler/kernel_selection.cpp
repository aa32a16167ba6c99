// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/kernel_selection.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernel_compiler/source_ranges.h"

namespace tutti::kernel_compiler {
namespace {

/// All declarations that some of them lead to, by their first ones.
class Reached : public clang::RecursiveASTVisitor<Reached> {
 public:
  void add(clang::Decl* declaration) {
    if (auto* constant = llvm::dyn_cast<clang::EnumConstantDecl>(declaration)) {
      declaration = llvm::cast<clang::Decl>(constant->getDeclContext());
    }
    if (seen_.insert(declaration->getCanonicalDecl()).second) open_.push_back(declaration);
  }
  void follow() {
    while (!open_.empty()) {
      clang::Decl* const declaration = open_.back();
      open_.pop_back();
      for (clang::Decl* one : declaration->redecls()) TraverseDecl(one);
    }
  }
  bool has(const clang::Decl* declaration) const {
    return seen_.contains(declaration->getCanonicalDecl());
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    add(name->getDecl());
    return true;
  }
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) {
    add(type.getTypedefNameDecl());
    return true;
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc type) {
    add(type.getDecl());
    return true;
  }

 private:
  std::set<const clang::Decl*> seen_;
  std::vector<clang::Decl*> open_;
};

class Selection {
 public:
  Selection(const clang::ASTContext& context, const std::string& text,
            const std::vector<std::string>& kernels)
      : sources_(context.getSourceManager()), text_(text) {
    const clang::TranslationUnitDecl* const unit = context.getTranslationUnitDecl();
    for (clang::Decl* declaration : unit->decls()) {
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
      if (function == nullptr || !function->hasAttr<clang::OpenCLKernelAttr>()) continue;
      if (std::find(kernels.begin(), kernels.end(), function->getName()) != kernels.end()) {
        reached_.add(declaration);
      }
    }
    reached_.follow();
    for (const clang::Decl* declaration : unit->decls()) place(*declaration);
  }

  /// Empty where a declaration was not found.
  std::string text() const {
    if (lost_) return {};
    std::string text = text_;
    for (const auto& [begin, statement] : statements_) {
      if (!statement.used) blank(text, begin, statement.end);
    }
    return text;
  }

 private:
  /// "typedef struct { … } a, *b;" declares three.
  struct Statement {
    size_t end = 0;
    bool used = false;
  };

  void place(const clang::Decl& declaration) {
    const auto begin = offset_of(sources_, text_, declaration.getBeginLoc());
    if (!begin || declaration.isImplicit()) return;  // of the language
    const auto end = end_of(declaration);
    if (!end || *end <= *begin) {
      lost_ = true;
      return;
    }
    Statement& statement = statements_[statement_begin(*begin)];
    statement.end = std::max(statement.end, *end);
    const bool known =
        llvm::isa<clang::FunctionDecl, clang::VarDecl, clang::TypedefNameDecl, clang::TagDecl>(
            declaration);
    statement.used |= !known || reached_.has(&declaration);
  }

  /// Attributes may stand before what the tree has for the beginning.
  size_t statement_begin(size_t at) const {
    while (at > 0 && text_[at - 1] != ';' && text_[at - 1] != '}') {
      const size_t line = text_[at - 1] == '\n' && at > 1 ? text_.rfind('\n', at - 2) + 1 : at;
      if (line < at && text_[line] == '#') break;
      --at;
    }
    return at;
  }

  std::optional<size_t> end_of(const clang::Decl& declaration) const {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration);
    const bool body = function != nullptr && function->doesThisDeclarationHaveABody();
    const auto last = offset_of(sources_, text_,
                                body ? function->getBody()->getEndLoc() : declaration.getEndLoc());
    if (!last) return std::nullopt;
    if (body) return *last + 1;
    const size_t semicolon = text_.find(';', *last);
    return semicolon == std::string::npos ? std::nullopt : std::optional(semicolon + 1);
  }

  const clang::SourceManager& sources_;
  const std::string& text_;
  Reached reached_;
  std::map<size_t, Statement> statements_;  // by where they begin
  bool lost_ = false;
};

}  // namespace

std::string only_kernels(const FrontEndSettings& settings, const std::string& text,
                         const std::vector<std::string>& kernels, std::string& log) {
  std::string selected;
  check(settings, text, log,
        [&](clang::ASTContext& tree) { selected = Selection(tree, text, kernels).text(); });
  return selected;
}

}  // namespace tutti::kernel_compiler
