// SPDX-License-Identifier: Apache-2.0
// LLVM's passes drop a store that writes what was loaded from the same place: nothing changes by
// it. But the vendor's compiler may keep it, and then the kernel writes there, over what another
// command has put there meanwhile. So, while such passes run, what is stored to memory that others
// see too passes through a call of which nothing is known but that it gives a value.
//
// Both passes are stateless.
#pragma once

#include <llvm/IR/PassManager.h>

namespace tutti::kernel_compiler {

/// Before each pass that drops stores: some are found only by those before it, such as SROA.
struct KeepStoresPass : llvm::PassInfoMixin<KeepStoresPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// The code as it is without those calls.
struct ReleaseStoresPass : llvm::PassInfoMixin<ReleaseStoresPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tutti::kernel_compiler
