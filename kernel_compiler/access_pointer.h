// SPDX-License-Identifier: Apache-2.0
// Where a pointer may point: the kernel arguments (or other objects) it can be based on, with the
// byte offset from each.
//
// Obligation: the list is complete. What cannot be followed is listed as kUnknown.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>

#include <vector>

#include "kernel_compiler/access_expr.h"

namespace tutti::kernel_compiler {

enum class BaseKind {
  kArgument,      // global or constant memory object number `argument`
  kPrivate,       // private or local memory, or a program's constant data: of no interest
  kProgramScope,  // a global variable of the program
  kUnknown,
};

struct PointerBase {
  BaseKind kind = BaseKind::kUnknown;
  uint32_t argument = 0;
  uint32_t offset = 0;  // into exprs, 64 bits signed
};

class PointerResolver {
 public:
  PointerResolver(ExprBuilder& builder, llvm::ScalarEvolution& evolution, llvm::LoopInfo& loops)
      : builder_(builder), evolution_(evolution), loops_(loops) {}

  /// `pointer` as used in a block whose innermost loop is `scope`. No bases: only null or undefined
  /// pointers, through which a defined program accesses nothing.
  std::vector<PointerBase> resolve(llvm::Value* pointer, const llvm::Loop* scope);

 private:
  void follow(llvm::Value* pointer, const llvm::Loop* user_loop, const llvm::Loop* scope,
              uint32_t added, int depth, std::vector<PointerBase>& bases);
  void leaf(const llvm::Value* object, uint32_t offset, std::vector<PointerBase>& bases) const;
  void underlying(llvm::Value* pointer, std::vector<PointerBase>& bases);

  ExprBuilder& builder_;
  llvm::ScalarEvolution& evolution_;
  llvm::LoopInfo& loops_;
};

}  // namespace tutti::kernel_compiler
