// SPDX-License-Identifier: Apache-2.0
// Brings a program's LLVM IR into the form that the access analysis reads: helper functions
// inlined into kernels, values in registers, loops rotated and simplified; no unrolling, no
// vectorisation, nothing that merges or invents accesses to global memory.
#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>

#include <set>
#include <string>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace tutti::kernel_compiler {

/// LLVM's analysis caches for one module; must not outlive it. Not thread-safe.
struct Analyses {
  Analyses();
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
};

/// Calls of defined functions that remain afterwards are recursive, or would have grown their
/// caller beyond what is worth analysing. Returns the kernels that are too long to be prepared, as
/// is told by their numbers of blocks and variables alone: nothing can be said of their accesses.
std::set<const llvm::Function*> prepare_module(llvm::Module& module, Analyses& analyses,
                                               const std::set<std::string>& foreign);

}  // namespace tutti::kernel_compiler
