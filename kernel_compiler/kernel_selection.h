// SPDX-License-Identifier: Apache-2.0
// A program with some of its kernels: what a device is given that cannot run the others. Functions,
// variables and types that the chosen kernels do not use are left out with the kernels, since what
// keeps a device from running those stands there as well. Stateless.
#pragma once

#include <string>
#include <vector>

#include "kernel_compiler/front_end.h"

namespace tutti::kernel_compiler {

/// The text with these kernels alone and all else in its line. Empty where the text has errors,
/// with these in `log`, or where a declaration is not found. May have errors of its own, where the
/// kernels use something in a way that this overlooks.
std::string only_kernels(const FrontEndSettings& settings, const std::string& text,
                         const std::vector<std::string>& kernels, std::string& log);

}  // namespace tutti::kernel_compiler
