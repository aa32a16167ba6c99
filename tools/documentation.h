// SPDX-License-Identifier: Apache-2.0
// The manual pages, made from the command line's own description, so that they cannot differ from
// it. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tutti::tools {

struct ManualPage {
  std::string file;  // "tutti-run.1"
  std::string text;  // in the language of man(7)
};

/// tutti(1), and a page for each command that is not hidden: tutti-run(1) and so on.
std::vector<ManualPage> manual_pages(const CLI::App& app);

}  // namespace tutti::tools
