// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/subscripted_arguments.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/RecursiveASTVisitor.h>

namespace tutti::kernel_compiler {
namespace {

const clang::ParmVarDecl* parameter_of(const clang::Expr* expression) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreImpCasts());
  return name != nullptr ? llvm::dyn_cast<clang::ParmVarDecl>(name->getDecl()) : nullptr;
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
               inner != nullptr && parameter_of(inner->getBase()) == nullptr) {
      expression = inner->getBase();
    } else {
      return expression;
    }
  }
}

class Visitor : public clang::RecursiveASTVisitor<Visitor> {
 public:
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    if (const auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(name->getDecl())) {
      ++mentions[parameter];
    }
    return true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* subscript) {
    // Written as a[i], and not as i[a].
    if (const auto* parameter = parameter_of(subscript->getLHS())) {
      subscripts[parameter].push_back(subscript);
    }
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    if (operation->getOpcode() == clang::UO_AddrOf) note_address(operation->getSubExpr());
    return true;
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) note_address(cast->getSubExpr());
    return true;
  }

  std::map<const clang::ParmVarDecl*, size_t> mentions;
  std::map<const clang::ParmVarDecl*, Subscripts> subscripts;

 private:
  void note_address(const clang::Expr* of) {
    const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(element_of(of));
    if (element == nullptr) return;
    // One mention that is no subscript's.
    if (const auto* parameter = parameter_of(element->getLHS())) ++mentions[parameter];
  }
};

}  // namespace

std::map<const clang::ParmVarDecl*, Subscripts> subscripted_arguments(
    const clang::FunctionDecl& function) {
  Visitor visitor;
  visitor.TraverseStmt(function.getBody());
  std::erase_if(visitor.subscripts, [&](const auto& one) {
    const auto& [parameter, subscripts] = one;
    return visitor.mentions[parameter] != subscripts.size() ||
           !parameter->getType()->isPointerType() ||
           parameter->getType()->getPointeeType()->isArrayType();
  });
  return std::move(visitor.subscripts);
}

}  // namespace tutti::kernel_compiler
