// SPDX-License-Identifier: Apache-2.0
// The driver's door to libtutti-compiler.so, which it loads at the first compilation and keeps for
// the life of the process. Thread-safe: any thread may compile, also at the same time; no lock is
// held while compiling.
#pragma once

#include <string>

#include "kernel_compiler/compile_types.h"
#include "platform/result.h"

namespace tutti::kernel_compiler {

/// Compiles a program. A program at fault is no Error but an output with `ok` false and a log.
/// Errors: CL_COMPILER_NOT_AVAILABLE when the library cannot be loaded (the message says which
/// places were tried), CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES when it answers nonsense.
Result<CompileOutput> compile(const CompileRequest& request);

/// Where the library lies, which is loaded if it was not yet. Error: as compile().
Result<std::string> compiler_library();

}  // namespace tutti::kernel_compiler
