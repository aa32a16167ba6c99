// SPDX-License-Identifier: Apache-2.0
// A program without what its functions do. Vendors' compilers know functions, types and statements
// of their own, which the front end has errors for: what stands outside of functions still tells
// all that must be known of kernels that run whole. Stateless.
#pragma once

#include <string>

#include "kernel_compiler/front_end.h"

namespace tutti::kernel_compiler {

/// The text with every function's body empty and all else in its line. Functions that are no
/// kernels and whose declarations have errors are left out. Empty where the text has no errors, or
/// its functions are not found. May have errors of its own.
std::string without_bodies(const FrontEndSettings& settings, const std::string& text);

}  // namespace tutti::kernel_compiler
