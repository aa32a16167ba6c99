// SPDX-License-Identifier: Apache-2.0
// What kernels use that a device need not have, by the names that devices' lists of extensions and
// OpenCL C features have for it. (Vendors' compilers say the rest.)
#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

/// Fills in KernelSummary::features from the kernels' code as the front end emits it, with all
/// functions that they call, before anything is optimised. A device without fp64 takes 1.0 for
/// 1.0f, and computes something else: so what is found decides where a kernel may run. `language`,
/// as 120: the newest of the module's units.
void note_used_features(const llvm::Module& module, uint32_t language,
                        std::vector<scheduler::KernelSummary>& kernels);

}  // namespace tutti::kernel_compiler
