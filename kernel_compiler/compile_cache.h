// SPDX-License-Identifier: Apache-2.0
// What the kernel compiler found out about programs, kept for later builds: a file per request in
// a folder that any number of processes share. A file counts only where it is whole, was made by
// the same compiler for the same request to the byte, and where all that the preprocessor looked at
// in the file system is as it was then. Stateless, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

/// As compile(), or what that found the last time. Kept are outputs that are `ok` and
/// `repeatable`. `folder` is made when there is something to keep; empty: nothing is kept.
Result<CompileOutput> compile_or_recall(const CompileRequest& request, const std::string& folder);

/// Removes the files that were used longest ago, until at most `most_bytes` are left.
void trim_kept_programs(const std::string& folder, uint64_t most_bytes);

}  // namespace tutti::kernel_compiler
