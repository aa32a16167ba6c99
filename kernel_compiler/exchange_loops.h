// SPDX-License-Identifier: Apache-2.0
// Loops of compare-and-exchange that programs write for atomics which OpenCL C does not have, such
// as adding floats: read, compute, try to put in place, until nobody was faster. Such a loop is one
// atomic update of its place.
//
// Obligation: a loop is found only where each way through it that ends has replaced the value of
// one place by `op` of that value and of one that does not depend on the loop, and where nothing of
// what it has read is seen outside.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <set>
#include <string>

namespace tutti::kernel_compiler {

class ExchangeLoops {
 public:
  ExchangeLoops(const llvm::Function& kernel, const llvm::LoopInfo& loops);

  /// The atomic that the loop around this exchange is: "fadd", "fmin", "umax" …, as
  /// scheduler::Access names it; empty: none that is known.
  std::string update_of(const llvm::Instruction& exchange) const;
  /// A read of the place by such a loop, which its update stands for.
  bool is_read_of_one(const llvm::Instruction& load) const { return reads_.contains(&load); }

 private:
  void look_at(const llvm::Loop& loop);

  std::map<const llvm::Instruction*, std::string> updates_;
  std::set<const llvm::Instruction*> reads_;
};

}  // namespace tutti::kernel_compiler
