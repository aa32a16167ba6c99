// SPDX-License-Identifier: Apache-2.0
// From a program's LLVM IR to the access summaries of its kernels. Stateless; the module is
// transformed on the way and of no further use.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace llvm {
class Module;
}

namespace tutti::kernel_compiler {

/// Fills in everything of `kernels` that comes from IR (the rest is kernel_signature's). `foreign`
/// as from foreign_functions(). Where a kernel is to be kept whole, its list of accesses may be
/// incomplete. Returns how many steps the analysis took, which grows with the kernels' length.
uint64_t analyse_accesses(llvm::Module& module, const std::set<std::string>& foreign,
                          std::vector<scheduler::KernelSummary>& kernels);

/// Instead of that: what is declared of the arguments, and the reason to keep them whole.
void keep_all_whole(const llvm::Module& module, const std::string& reason,
                    std::vector<scheduler::KernelSummary>& kernels);

}  // namespace tutti::kernel_compiler
