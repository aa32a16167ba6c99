// SPDX-License-Identifier: Apache-2.0
// Clang's opencl-c-base.h as text, embedded at build time. Constant, static lifetime.
#pragma once

namespace tutti::kernel_compiler {
extern const char kOpenClBaseHeader[];
extern const unsigned long kOpenClBaseHeaderSize;
}  // namespace tutti::kernel_compiler
