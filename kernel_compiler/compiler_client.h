// SPDX-License-Identifier: Apache-2.0
// The driver's door to the kernel compiler, which works in helper processes (tutti-builder), so
// that its crashes, its memory and its LLVM are not the application's. A helper is kept for the
// next program until it has had nothing to do for some seconds. Where there is none to be had, the
// compiler works here. Thread-safe: any thread may compile, also at the same time; no lock is held
// while compiling.
#pragma once

#include <string>

#include "base/result.h"
#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

/// Compiles a program. A program at fault is no Error but an output with `ok` false and a log. One
/// whose analysis crashes or takes too much is compiled without: its kernels stay whole, and say
/// why. That is known of it for the life of the process; where the same would happen again, the
/// output is `repeatable` as any other.
///
/// `library`, unless null: the identity of the library that did it, see expected_library().
/// Errors: CL_COMPILER_NOT_AVAILABLE when the library cannot be loaded (the message says which
/// places were tried), CL_OUT_OF_RESOURCES when it answers nonsense.
Result<CompileOutput> compile(const CompileRequest& request, std::string* library = nullptr);

/// Where the library lies, which is loaded if it was not yet. Error: as compile().
Result<std::string> compiler_library();

/// Which library would be used now, as long as it loads: its path, and what changes with its
/// content, a line each. Does not load it. Empty: unknown.
std::string expected_library();

}  // namespace tutti::kernel_compiler
