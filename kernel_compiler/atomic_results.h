// SPDX-License-Identifier: Apache-2.0
// What becomes of an atomic's result inside one kernel: may it decide how long a loop around the
// atomic runs (then the work-item may be waiting for others), and is the atomic executed seldom, by
// the look of the tests before it?
//
// Obligation: decides_loop() is false only where no loop around the atomic can be left, or kept
// running, depending on what this or another atomic of the loop's memory yields. is_seldom() is a
// guess about speed, and proves nothing.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <optional>
#include <utility>

namespace tutti::kernel_compiler {

class AtomicResults {
 public:
  AtomicResults(llvm::Function& kernel, llvm::DominatorTree& tree, llvm::LoopInfo& loops)
      : kernel_(kernel), tree_(tree), loops_(loops) {}

  bool decides_loop(const llvm::Instruction& atomic);
  /// Behind a test that two values are equal, of which one comes from memory and neither is a
  /// constant, or behind many tests of what memory holds: a search that seldom finds.
  bool is_seldom(const llvm::Instruction& atomic);

 private:
  bool decides(const llvm::Instruction& atomic, const llvm::Loop& loop);
  int weight_of(const llvm::BasicBlock* block);

  llvm::Function& kernel_;
  llvm::DominatorTree& tree_;
  llvm::LoopInfo& loops_;
  std::optional<llvm::PostDominatorTree> post_;                                 // made at first use
  std::map<std::pair<const llvm::Loop*, const llvm::Value*>, bool> decisions_;  // by object
  std::map<const llvm::BasicBlock*, int> weights_;
};

}  // namespace tutti::kernel_compiler
