// SPDX-License-Identifier: Apache-2.0
// What tutti's commands print goes through here: cleaned of what a terminal would obey, in the
// terminal's width, and in colours where they are wanted. Used by the main thread.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/paragraph.h"
#include "base/printable.h"

namespace tutti::tools {

/// What a text means, which colours show on terminals.
enum class Tone : uint8_t { kStrong, kGood, kWarning, kBad, kFaint };

/// Between tone marks (base/paragraph.h), which put() makes colours of. Tones are not nested.
std::string toned(Tone tone, std::string_view text);

/// COLUMNS, or the width of the terminal that stdout is; `otherwise` where there is neither.
size_t output_columns(size_t otherwise = SIZE_MAX);

/// Whether stdout is a terminal that shows colours, and NO_COLOR does not forbid them.
bool output_has_colours();

/// Lines that are longer than so many columns broken at blanks, what follows indented by two more.
std::string wrapped(std::string_view text, size_t columns);

/// As files get it: printable, and without tone marks.
std::string plain(std::string_view text);

/// To stdout: printable, wrapped to output_columns(), in colours where there are any. Whole lines.
void put(std::string_view text);
/// To stderr, printable.
void put_error(std::string_view text);

template <typename... T>
void say(fmt::format_string<T...> format, T&&... arguments) {
  put(fmt::format(format, std::forward<T>(arguments)...));
}

/// "tutti COMMAND: MESSAGE" on stderr.
void complain(std::string_view command, std::string_view message);

/// As text of whole lines, without anything that a terminal would obey, whatever its strings hold,
/// which need not be UTF-8.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace tutti::tools
