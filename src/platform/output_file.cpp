// SPDX-License-Identifier: Apache-2.0
#include "platform/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tutti {

namespace fs = std::filesystem;

std::string output_name_problem(std::string_view name, bool dash) {
  if (!name.starts_with('-') || (dash && name == "-")) return {};
  return fmt::format("a file's name is missing before '{0}' (one that begins so is written ./{0})",
                     name);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

std::string overwrites_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  // What a device, a pipe or a folder is given is not lost to anybody.
  if (!fs::is_regular_file(output, error)) return {};
  for (const std::string& input : inputs) {
    if (!same_file(output, input)) continue;
    return output == input ? fmt::format("{} would be overwritten, and is read as well", output)
                           : fmt::format("{} would be overwritten, which is {}", input, output);
  }
  return {};
}

bool holds_something_else(const std::string& output, const std::vector<std::string>& beginnings) {
  std::error_code error;
  if (!fs::is_regular_file(output, error)) return false;
  std::string begin(256, '\0');
  std::ifstream file(output, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  const size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  return std::none_of(beginnings.begin(), beginnings.end(), [&](const std::string& known) {
    return begin.compare(first, known.size(), known) == 0;
  });
}

}  // namespace tutti
