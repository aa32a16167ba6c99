// SPDX-License-Identifier: Apache-2.0
// Translation units of clLinkProgram put together: who is affected by sub-range launches across
// them, and one LLVM module of all, for the analysis alone (vendors link for themselves).
// Stateless.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernel_compiler/work_item_rewriter.h"

namespace llvm {
class Module;
}

namespace tutti::kernel_compiler {

/// Names (as in NamedCall) of the functions that use what a sub-range launch changes, themselves or
/// through what they call.
std::set<std::string> affected_functions(const std::vector<NamedCall>& calls);

/// Do two units contradict each other about a name: a function that the language has in one, a
/// function of the program's in another? Its name; empty if there is none. `foreign`: per module,
/// as from foreign_functions().
std::string redefined_builtin(const std::vector<std::unique_ptr<llvm::Module>>& modules,
                              const std::vector<std::set<std::string>>& foreign);

/// All modules (of one LLVMContext, at least one) in one. Null when they do not fit together;
/// messages are appended to `log`.
std::unique_ptr<llvm::Module> link_modules(std::vector<std::unique_ptr<llvm::Module>> modules,
                                           std::string& log);

/// Names that the program uses and defines nowhere, of functions (among `foreign`) and variables.
std::vector<std::string> unresolved_names(const llvm::Module& module,
                                          const std::set<std::string>& foreign);

}  // namespace tutti::kernel_compiler
