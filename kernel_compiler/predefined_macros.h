// SPDX-License-Identifier: Apache-2.0
// Which macros a program sees while we preprocess it for the vendors. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "kernel_compiler/build_options.h"
#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

/// Definitions in force before the program's own -D and -U, in order.
std::vector<MacroOption> predefined_macros(const CompileRequest& request, uint32_t language);

/// The value of Clang's -cl-ext: exactly the request's extensions and features.
std::string clang_extension_list(const CompileRequest& request);

}  // namespace tutti::kernel_compiler
