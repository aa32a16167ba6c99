// SPDX-License-Identifier: Apache-2.0
// What the kernel compiler's tests share: compiling a source with a common device, and summaries as
// short lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel_compiler/compiler_client.h"

namespace tutti::kernel_compiler {

/// A device like the ones the tests run on: doubles, images, the usual atomics, OpenCL C 3.0.
CompileRequest request_for(const std::string& source, const std::string& options = {});

/// What the compiler says, also of a source that does not compile; no answer fails the test.
CompileOutput run(const CompileRequest& request);
CompileOutput run(const std::string& source, const std::string& options = {});

/// Compiles; a source that does not compile fails the test, with its log.
CompileOutput compiled(const std::string& source, const std::string& options = {});
CompileOutput compiled(const CompileRequest& request);

/// The kernel named, or the only one. Must exist.
const scheduler::KernelSummary& kernel_of(const CompileOutput& output, std::string_view name = {});

/// An expression as text: "(4*gid0 + 16)". Names: gid0 lid0 group0 gsize0 lsize0 ngroups0 goff0 for
/// the work-item functions, k0 for loop counters, the arguments' own names (with "@offset" inside
/// them), zext64(…) and so on, ?32 for an unknown of 32 bits.
std::string show(const scheduler::KernelSummary& kernel, uint32_t expr);

/// One line per loop and access:
///   "loop k0 to zext64((n + -1)) exact"
///   "store out[(4*gid0)] 4 in k0 if gid0 <u n exact"
/// With content that bounds it: "… from #0 to #1 i32 *4 + 0", accesses by their numbers.
std::vector<std::string> describe(const scheduler::KernelSummary& kernel);

/// As above, of a source with one kernel.
std::vector<std::string> describe(const std::string& source);

}  // namespace tutti::kernel_compiler
