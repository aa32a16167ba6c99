// SPDX-License-Identifier: Apache-2.0
// libtutti-compiler.so in this process: found, loaded at the first compilation and kept for its
// life. In the driver that is where no helper can be had (compiler_client.h). Thread-safe: any
// thread may compile, also at the same time; no lock is held while compiling.
#pragma once

#include <string>
#include <vector>

#include "base/helper_message.h"
#include "base/result.h"

namespace tutti::kernel_compiler {

/// Where to look. TUTTI_COMPILER names the file and excludes the other places.
std::vector<std::string> compiler_places();

/// What changes with the file that would be loaded now of these places: its path, and what changes
/// with its content, a line each. Empty: unknown.
std::string identity_of_first(const std::vector<std::string>& places);

struct LoadedCompiler {
  std::string path;
  std::string identity;  // as it was when it was loaded
};
/// Of the first of `places` that loads; later calls answer the same, whatever the places. Error:
/// CL_COMPILER_NOT_AVAILABLE (the message says what was tried).
const Result<LoadedCompiler>& load_compiler(const std::vector<std::string>& places);

/// A request and its answer as text (compiler_api.h), after load_compiler() has succeeded.
HelperMessage compile_here(std::string_view request);

}  // namespace tutti::kernel_compiler
