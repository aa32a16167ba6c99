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

/// Where the application begins among the words of `run` (from the second on): at the first that is
/// neither an option nor an option's value, or after "--".
size_t application_start(const CLI::App& run_command, const std::vector<std::string>& words);

}  // namespace tutti::tools
