// SPDX-License-Identifier: Apache-2.0
// Under which conditions a basic block of a kernel runs: the guards of its accesses.
//
// Obligations: every guard listed for a block holds whenever the block runs, in terms of the
// counters of the loops around it; and `exact` is claimed only where the guards suffice: every
// work-item, in every iteration (up to each loop's `last`) in which they hold, runs the block.
// That a work-item never gets out of a loop on the way need not be considered: then the launch
// never ends, and nobody can look at its results.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <map>
#include <vector>

#include "kernel_compiler/access_expr.h"

namespace tutti::kernel_compiler {

struct Conditions {
  std::vector<scheduler::Guard> guards;
  std::vector<uint32_t> loops;  // enclosing, outermost first
  bool exact = false;
};

class ControlAnalysis {
 public:
  ControlAnalysis(const scheduler::KernelSummary& summary, ExprBuilder& builder,
                  llvm::DominatorTree& tree, llvm::LoopInfo& loops,
                  llvm::ScalarEvolution& evolution);

  const Conditions& of(llvm::BasicBlock* block);

 private:
  // Blocks whose branch is decided by guards: the one successor taken when they hold.
  using Forced = std::map<const llvm::BasicBlock*, const llvm::BasicBlock*>;

  bool add_condition(llvm::Value* condition, bool truth, const llvm::Loop* scope,
                     std::vector<scheduler::Guard>& guards, int depth);
  bool add_compare(llvm::Value* left, llvm::Value* right, scheduler::Compare compare,
                   const llvm::Loop* where, const llvm::Loop* scope,
                   std::vector<scheduler::Guard>& guards);
  bool add_branch(llvm::BasicBlock* from, llvm::BasicBlock* to, const llvm::Loop* scope,
                  std::vector<scheduler::Guard>& guards);
  void add_loop_bound(const llvm::Loop* loop, const llvm::Loop* scope,
                      std::vector<scheduler::Guard>& guards);
  bool add_guard(const scheduler::Guard& guard, std::vector<scheduler::Guard>& guards);
  bool always_reached(llvm::BasicBlock* block, const Forced& forced) const;
  bool reaches(const llvm::BasicBlock* start, const llvm::BasicBlock* target,
               const llvm::Loop* region, const Forced& forced) const;

  const scheduler::KernelSummary& summary_;
  ExprBuilder& builder_;
  llvm::DominatorTree& tree_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  std::map<const llvm::BasicBlock*, Conditions> known_;
};

}  // namespace tutti::kernel_compiler
