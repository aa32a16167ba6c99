// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/source_line.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Function.h>

namespace tutti::kernel_compiler {

uint32_t source_line(const llvm::Instruction& at) {
  const llvm::DISubprogram* kernel = at.getFunction()->getSubprogram();
  if (kernel == nullptr) return 0;
  for (const llvm::DILocation* place = at.getDebugLoc(); place != nullptr;
       place = place->getInlinedAt()) {
    // Units that are linked may all be called the same.
    const llvm::DISubprogram* function = place->getScope()->getSubprogram();
    if (place->getFilename() == kernel->getFilename() &&
        place->getDirectory() == kernel->getDirectory() && function != nullptr &&
        function->getUnit() == kernel->getUnit()) {
      return place->getLine();
    }
  }
  return 0;
}

}  // namespace tutti::kernel_compiler
