// SPDX-License-Identifier: Apache-2.0
// Pointer arguments of a kernel that are used for nothing but elements, a[i] or *(a + i), so that a
// rewriter can compute each place anew. Works on the syntax tree; pure function of its input.
#pragma once

#include <clang/Basic/SourceLocation.h>

#include <map>
#include <vector>

namespace clang {
class DeclRefExpr;
class Expr;
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace tutti::kernel_compiler {

/// One use: the argument's name, and its index.
struct Subscript {
  const clang::DeclRefExpr* name = nullptr;
  const clang::Expr* index = nullptr;
  bool brackets = true;           // else it is added
  clang::SourceLocation closing;  // of brackets, the right one
};

/// The uses of all such arguments of a function that is defined. Whose elements' addresses are
/// taken, or which have arrays for elements, are none; nor are those whose elements' size is no
/// power of 2, or more than PanelArgument::kAlignment.
std::map<const clang::ParmVarDecl*, std::vector<Subscript>> subscripted_arguments(
    const clang::FunctionDecl& function);

}  // namespace tutti::kernel_compiler
