// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/subscripted_arguments.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <bit>
#include <optional>

#include "scheduler/access/panel_argument.h"

namespace tutti::kernel_compiler {
namespace {

const clang::DeclRefExpr* name_in(const clang::Expr* expression) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreImpCasts());
  const bool parameter = name != nullptr && llvm::isa<clang::ParmVarDecl>(name->getDecl());
  return parameter ? name : nullptr;
}

const clang::ParmVarDecl* parameter_of(const clang::DeclRefExpr* name) {
  return llvm::cast<clang::ParmVarDecl>(name->getDecl());
}

/// As a[i], not as i[a]; or as *(a + i), not as *(i + a).
std::optional<Subscript> subscript_in(const clang::Expr* expression) {
  if (const auto* brackets = llvm::dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    const clang::DeclRefExpr* name = name_in(brackets->getLHS());
    if (name == nullptr) return std::nullopt;
    return Subscript{name, brackets->getRHS(), true, brackets->getRBracketLoc()};
  }
  const auto* content = llvm::dyn_cast<clang::UnaryOperator>(expression);
  if (content == nullptr || content->getOpcode() != clang::UO_Deref) return std::nullopt;
  const auto* sum =
      llvm::dyn_cast<clang::BinaryOperator>(content->getSubExpr()->IgnoreParenImpCasts());
  if (sum == nullptr || sum->getOpcode() != clang::BO_Add) return std::nullopt;
  const clang::DeclRefExpr* name = name_in(sum->getLHS());
  if (name == nullptr || !name->getType()->isPointerType()) return std::nullopt;
  return Subscript{name, sum->getRHS(), false, {}};
}

/// The expression without what chooses a part of an element.
const clang::Expr* element_of(const clang::Expr* expression) {
  for (;;) {
    expression = expression->IgnoreParenImpCasts();
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression)) {
      expression = member->getBase();
    } else if (const auto* part = llvm::dyn_cast<clang::ExtVectorElementExpr>(expression)) {
      expression = part->getBase();
    } else if (const auto* inner = llvm::dyn_cast<clang::ArraySubscriptExpr>(expression);
               inner != nullptr && !subscript_in(inner)) {
      expression = inner->getBase();
    } else {
      return expression;
    }
  }
}

/// Whether elements lie in panels whole.
bool has_fitting_elements(const clang::ParmVarDecl& parameter) {
  const clang::QualType element = parameter.getType()->getPointeeType();
  if (element.isNull() || element->isArrayType() || element->isIncompleteType()) return false;
  const auto size =
      static_cast<uint64_t>(parameter.getASTContext().getTypeSizeInChars(element).getQuantity());
  return std::has_single_bit(size) && size <= scheduler::PanelArgument::kAlignment;
}

class Visitor : public clang::RecursiveASTVisitor<Visitor> {
 public:
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(name->getDecl())) {
      ++mentions[parameter];
    }
    return true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* expression) {
    return note_element(expression);
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    if (operation->getOpcode() == clang::UO_AddrOf) note_address(operation->getSubExpr());
    return note_element(operation);
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) note_address(cast->getSubExpr());
    return true;
  }

  std::map<const clang::ParmVarDecl*, size_t> mentions;
  std::map<const clang::ParmVarDecl*, std::vector<Subscript>> subscripts;

 private:
  bool note_element(const clang::Expr* expression) {
    if (const auto use = subscript_in(expression)) {
      subscripts[parameter_of(use->name)].push_back(*use);
    }
    return true;
  }
  void note_address(const clang::Expr* of) {
    // One mention that is no subscript's.
    if (const auto use = subscript_in(element_of(of))) ++mentions[parameter_of(use->name)];
  }
};

}  // namespace

std::map<const clang::ParmVarDecl*, std::vector<Subscript>> subscripted_arguments(
    const clang::FunctionDecl& function) {
  Visitor visitor;
  visitor.TraverseStmt(function.getBody());
  std::erase_if(visitor.subscripts, [&](const auto& one) {
    const auto& [parameter, subscripts] = one;
    return visitor.mentions[parameter] != subscripts.size() ||
           !parameter->getType()->isPointerType() || !has_fitting_elements(*parameter);
  });
  return std::move(visitor.subscripts);
}

}  // namespace tutti::kernel_compiler
