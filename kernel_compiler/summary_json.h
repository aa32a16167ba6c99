// SPDX-License-Identifier: Apache-2.0
// Requests, answers and summaries as compact JSON, for the library border, the disk cache and
// program binaries. Pure functions; no LLVM. Reading trusts nothing: whatever a damaged text
// says, the result is an Error or a value whose indices are all in range.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel_compiler/compile_types.h"

namespace tutti::kernel_compiler {

/// Changes whenever the meaning of a summary changes; a text of another version is an Error.
inline constexpr int kSummaryVersion = 12;

std::string encode_summary(const scheduler::ProgramSummary& summary);
Result<scheduler::ProgramSummary> decode_summary(std::string_view text);

/// One kernel as a value of its own, with the same version field.
std::string encode_kernel(const scheduler::KernelSummary& kernel);
Result<scheduler::KernelSummary> decode_kernel(std::string_view text);

std::string encode_request(const CompileRequest& request);
Result<CompileRequest> decode_request(std::string_view text);

std::string encode_output(const CompileOutput& output);
Result<CompileOutput> decode_output(std::string_view text);

}  // namespace tutti::kernel_compiler
