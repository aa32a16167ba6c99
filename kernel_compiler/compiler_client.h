// SPDX-License-Identifier: Apache-2.0
// The driver's door to libtutti-compiler.so, which it loads at the first compilation and keeps for
// the life of the process. Thread-safe: any thread may compile, also at the same time; no lock is
// held while compiling.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

/// Compiles a program. A program at fault is no Error but an output with `ok` false and a log.
/// Errors: CL_COMPILER_NOT_AVAILABLE when the library cannot be loaded (the message says which
/// places were tried), CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES when it answers nonsense.
Result<CompileOutput> compile(const CompileRequest& request);

/// The same as text (compiler_api.h): request in, output out.
Result<std::string> compile_text(const std::string& request);
Result<CompileOutput> read_answer(std::string_view answer);

/// Where the library lies, which is loaded if it was not yet. Error: as compile().
Result<std::string> compiler_library();

/// Which library would be loaded now, as long as it loads: its path, and what changes with its
/// content, a line each. Does not load it. Empty: unknown.
std::string expected_library();

/// The same of the library that was loaded, as it was then. Empty: unknown.
const std::string& loaded_library();

}  // namespace tutti::kernel_compiler
