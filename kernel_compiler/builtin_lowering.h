// SPDX-License-Identifier: Apache-2.0
// Gives LLVM the meaning of OpenCL built-ins that matter to addresses: vloadN and vstoreN become
// loads and stores, integer min, max, clamp, abs, mul24, mad24 and conversions become arithmetic,
// and value functions are marked free of side effects. For analysis only; never compiled.
#pragma once

#include <set>
#include <string>

namespace llvm {
class Module;
}

namespace tutti::kernel_compiler {

/// `foreign`: functions of the program's own that look like built-ins; left alone.
void lower_builtins(llvm::Module& module, const std::set<std::string>& foreign);

}  // namespace tutti::kernel_compiler
