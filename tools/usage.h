// SPDX-License-Identifier: Apache-2.0
// How `tutti` prints its help, and what it says of command lines that it does not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace tutti::tools {

/// Help whose descriptions are broken into lines of 80 columns, or of the terminal's if those are
/// fewer.
std::shared_ptr<CLI::Formatter> help_formatter();

/// Of the words of a command line that does not parse: the first command or option that does not
/// exist, with what may have been meant. Empty: all exist.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace tutti::tools
