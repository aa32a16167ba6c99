// SPDX-License-Identifier: Apache-2.0
// Whether a kernel may use an address in global memory that is none of an argument's, or keep one
// of an argument where it might be found later: in memory, or as a number. With shared virtual
// memory such addresses are a device's own.
//
// Obligation: no such kernel is overlooked. What is not understood is one.
#pragma once

#include <llvm/IR/Function.h>

#include <set>
#include <span>
#include <string>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

/// `kernel` is of a prepared module (module_preparation.h), `arguments` are its own. `foreign`:
/// functions that the program calls and does not define.
bool uses_addresses(const llvm::Function& kernel, std::span<const scheduler::Argument> arguments,
                    const std::set<std::string>& foreign);

}  // namespace tutti::kernel_compiler
