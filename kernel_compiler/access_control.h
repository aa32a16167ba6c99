// SPDX-License-Identifier: Apache-2.0
// Under which conditions a basic block of a kernel runs: the guards of its accesses.
//
// Obligations: every guard listed for a block holds whenever the block runs, in terms of the
// counters of the loops around it; and `exact` is claimed only where the guards suffice: every
// work-item, in every iteration (up to each loop's `last`) in which they hold, runs the block.
// That a work-item never gets out of a loop on the way need not be considered: then the launch
// never ends, and nobody can look at its results.
//
// What is found out of the way to a block is kept for all blocks behind it, so that the work grows
// with the kernel's length, also where thousands of tests follow each other.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <utility>
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

  /// How much has been looked at: links made, and blocks searched.
  uint64_t steps() const { return links_.size() + visited_; }

 private:
  /// What is known of the way to a block from its immediate dominator, and above.
  struct Link {
    std::vector<scheduler::Guard> own;     // what the branch before the block says
    bool own_complete = false;             // all that it says
    std::vector<scheduler::Guard> guards;  // these and those above, nearest first
    // Where `sufficient`, the block runs whenever all of these hold.
    std::vector<scheduler::Guard> needed;
    bool sufficient = true;
  };
  // Blocks whose branch is decided by guards: the one successor taken when they hold.
  using Forced = std::map<const llvm::BasicBlock*, const llvm::BasicBlock*>;
  using Place = std::pair<const llvm::BasicBlock*, const llvm::Loop*>;
  using Cases = std::map<const llvm::BasicBlock*, llvm::ConstantInt*>;

  const Link& link(llvm::BasicBlock* block, const llvm::Loop* scope);
  Link make_link(llvm::BasicBlock* from, llvm::BasicBlock* to, const llvm::Loop* region,
                 const Link& above);
  bool dominates(llvm::BasicBlock* from, llvm::BasicBlock* to) const;
  bool add_condition(llvm::Value* condition, bool truth, const llvm::Loop* scope,
                     std::vector<scheduler::Guard>& guards, int depth);
  bool add_compare(llvm::Value* left, llvm::Value* right, scheduler::Compare compare,
                   const llvm::Loop* where, const llvm::Loop* scope,
                   std::vector<scheduler::Guard>& guards);
  bool add_branch(llvm::BasicBlock* from, llvm::BasicBlock* to, const llvm::Loop* scope,
                  std::vector<scheduler::Guard>& guards);
  llvm::ConstantInt* only_case(llvm::SwitchInst& choice, const llvm::BasicBlock* to);
  void add_loop_bound(const llvm::Loop* loop, const llvm::Loop* scope,
                      std::vector<scheduler::Guard>& guards);
  bool add_guard(const scheduler::Guard& guard, std::vector<scheduler::Guard>& guards);
  bool passes(llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::Loop* region,
              std::vector<scheduler::Guard>& needed);
  Forced forced_in_ended_loops(llvm::BasicBlock* from, const llvm::Loop* region);

  const scheduler::KernelSummary& summary_;
  ExprBuilder& builder_;
  llvm::DominatorTree& tree_;
  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  llvm::PostDominatorTree post_;
  std::map<const llvm::BasicBlock*, Conditions> known_;
  std::map<Place, Link> links_;
  std::map<const llvm::SwitchInst*, Cases> cases_;
  uint64_t visited_ = 0;  // blocks, by all searches
};

}  // namespace tutti::kernel_compiler
