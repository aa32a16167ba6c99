// SPDX-License-Identifier: Apache-2.0
// Where an instruction of a kernel came from, for people. Pure functions.
#pragma once

#include <llvm/IR/Instruction.h>

#include <cstdint>

namespace tutti::kernel_compiler {

/// The line in the file that holds the kernel (KernelSummary::file), 0 when it is not known. Of an
/// inlined helper in the same file, the helper's line; of one in another file, the line that calls
/// it.
uint32_t source_line(const llvm::Instruction& at);

}  // namespace tutti::kernel_compiler
