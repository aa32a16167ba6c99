// SPDX-License-Identifier: Apache-2.0
// What a path of the file system holds, as the preprocessor sees it, in a word. Pure; no LLVM.
#pragma once

#include <string>
#include <string_view>

namespace tutti::kernel_compiler {

inline constexpr std::string_view kAbsent = "absent";  // or unreadable
inline constexpr std::string_view kFolder = "folder";
inline constexpr std::string_view kPresent = "present";  // something else, which nobody has read

/// Of a file that was read: XXH3, 128 bits, of its content.
std::string state_of_content(std::string_view content);

}  // namespace tutti::kernel_compiler
