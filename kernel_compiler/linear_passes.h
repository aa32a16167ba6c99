// SPDX-License-Identifier: Apache-2.0
// Passes in front of, around and in place of LLVM's, where those take time that grows with the
// square of a function's length: generated kernels have thousands of branches or loops. What comes
// of them is the same code, with fewer simplifications where a function has very many of something.
//
// All are stateless.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::kernel_compiler {

/// Where there are many variables, puts them in registers: local ones by themselves, the others
/// some at a time, since renaming carries a list of all of them along every path.
struct PromoteInPartsPass : llvm::PassInfoMixin<PromoteInPartsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// InstCombine looks at every branch whose condition tells something of a value each time that it
/// asks for that value's bits, and SimplifyCFG at all tests of a value that it has merged to a
/// switch for each further one. Of the branches that tell of one value, all but the first few are
/// given a condition that tells nothing, until ShowConditionsPass.
struct HideConditionsPass : llvm::PassInfoMixin<HideConditionsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};
struct ShowConditionsPass : llvm::PassInfoMixin<ShowConditionsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// SimplifyCFG tries to fold every empty block into the one behind it, and looks at all blocks that
/// meet there for each: those of a switch's cases, none of which can be. Where very many meet, the
/// empty ones get a call that does nothing, until ShowEmptyBlocksPass.
struct HideEmptyBlocksPass : llvm::PassInfoMixin<HideEmptyBlocksPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};
struct ShowEmptyBlocksPass : llvm::PassInfoMixin<ShowEmptyBlocksPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Rotates loops, inner ones first. LLVM's pass keeps the dominator tree of the whole function up
/// to date, whose depth changes with every loop; this one has a tree of the loop at hand alone.
/// Expects the simplified form and LCSSA, and keeps both.
struct RotateLoopsPass : llvm::PassInfoMixin<RotateLoopsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::kernel_compiler
