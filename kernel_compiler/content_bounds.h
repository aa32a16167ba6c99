// SPDX-License-Identifier: Apache-2.0
// Finds loads that the content of other arguments bounds (scheduler::ContentBounds): elements that
// a loop counts from one loaded number up to another.
//
// Obligation: what is said holds for each execution of the access, whatever the numbers are.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

class ContentBoundsFinder {
 public:
  ContentBoundsFinder(llvm::ScalarEvolution& evolution, llvm::LoopInfo& loops)
      : evolution_(evolution), loops_(loops) {}

  /// The summary's access stands for this load, too; null: for something else.
  void note(uint32_t access, const llvm::LoadInst* load);
  /// Sets Access::content of loads, where all that the access stands for has the same bounds.
  void find(std::vector<scheduler::Access>& accesses);

 private:
  /// scale * number + added, from a pointer argument.
  struct Address {
    const llvm::LoadInst* number = nullptr;
    bool sign_extended = false, zero_extended = false;
    int64_t scale = 0, added = 0;
  };
  std::optional<scheduler::ContentBounds> bounds_of(const llvm::LoadInst& load);
  static std::optional<Address> address_of(const llvm::SCEV* pointer);
  /// The number that the counter, which begins with `first`, is less than in every iteration.
  const llvm::LoadInst* end_of(const llvm::Loop& loop, const Address& first, bool& is_signed);
  std::optional<uint32_t> access_of(const llvm::LoadInst& load) const;

  llvm::ScalarEvolution& evolution_;
  llvm::LoopInfo& loops_;
  std::map<uint32_t, std::vector<const llvm::LoadInst*>> loads_;  // by access
  std::map<const llvm::LoadInst*, std::vector<uint32_t>> accesses_;
};

}  // namespace tutti::kernel_compiler
