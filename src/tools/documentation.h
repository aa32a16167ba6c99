// SPDX-License-Identifier: Apache-2.0
// The manual page and the shells' completions, made from the command line's own description, so
// that they cannot differ from it. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tutti::tools {

/// tutti(1), in the language of man(7).
std::string manual_page(const CLI::App& app);

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace tutti::tools
