// SPDX-License-Identifier: Apache-2.0
// Pointer arguments of a kernel that are used for nothing but subscripts, a[i], so that a rewriter
// can compute each place anew. Works on the syntax tree; pure function of its input.
#pragma once

#include <map>
#include <vector>

namespace clang {
class ArraySubscriptExpr;
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace tutti::kernel_compiler {

using Subscripts = std::vector<const clang::ArraySubscriptExpr*>;

/// The subscripts of all such arguments of a function that is defined. Whose elements' addresses
/// are taken, or which have arrays for elements, are none.
std::map<const clang::ParmVarDecl*, Subscripts> subscripted_arguments(
    const clang::FunctionDecl& function);

}  // namespace tutti::kernel_compiler
