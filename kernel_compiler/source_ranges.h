// SPDX-License-Identifier: Apache-2.0
// Places of declarations in a preprocessed text, and how they are taken out of it without moving
// what is left. Pure functions.
#pragma once

#include <clang/Basic/SourceLocation.h>
#include <clang/Basic/SourceManager.h>

#include <cstddef>
#include <optional>
#include <string>

namespace tutti::kernel_compiler {

/// Where in `text`, which is the main file; absent: elsewhere, or in a macro.
std::optional<size_t> offset_of(const clang::SourceManager& sources, const std::string& text,
                                clang::SourceLocation location);

/// Blanks `text` from `begin` to before `end`, but for the ends of lines and the marks that say
/// which lines follow.
void blank(std::string& text, size_t begin, size_t end);

}  // namespace tutti::kernel_compiler
