// SPDX-License-Identifier: Apache-2.0
// The numbers that OpenCL's address spaces have in LLVM's types, for Clang's SPIR target.
#pragma once

namespace tutti::kernel_compiler {

constexpr unsigned kPrivateSpace = 0;
constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kConstantSpace = 2;
constexpr unsigned kLocalSpace = 3;
constexpr unsigned kGenericSpace = 4;

}  // namespace tutti::kernel_compiler
