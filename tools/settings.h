// SPDX-License-Identifier: Apache-2.0
// Options of commands that set options of the driver: their help and the values that they take are
// those of base/config.def. Used by one thread, while there is one.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string_view>

#include "tools/commands.h"

namespace tutti::tools {

/// Adds --KEY for each key, which sets TUTTI_KEY in `settings`. A value that the driver would not
/// understand is an error that names the accepted ones.
void add_settings(CLI::App& command, std::initializer_list<std::string_view> keys,
                  Settings& settings);

/// The application's words, taken out of those of a command that starts one: from the first (after
/// the command's name) that is neither an option nor an option's value, or what is after "--".
std::vector<std::string> take_application(const CLI::App& command, std::vector<std::string>& words);

}  // namespace tutti::tools
