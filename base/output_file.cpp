// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tutti {

namespace fs = std::filesystem;

namespace {

/// `begin` is without blanks. Of a file that was cut off there may be less.
bool begins_like(std::string_view begin, Written kind) {
  const auto fits = [begin](std::string_view known) {
    const size_t length = std::min(begin.size(), known.size());
    return begin.substr(0, length) == known.substr(0, length);
  };
  switch (kind) {
    case Written::kTrace:
      return fits(R"([{"ph":"M","pid":2,"tid":0,"name":"tutti_trace)");
    case Written::kSummary:
      return fits(R"({"devices":[{"bytes_to_device":)") || fits(R"({"devices":[],)");
    case Written::kReportPage:
      return fits("<!DOCTYPEhtml><!--tuttireport-->");
    case Written::kReportJson:
      return fits(R"({"program":")") || fits(R"({"a":{"source":")");
    case Written::kReportText:
      break;
  }
  return false;
}

/// The first line of the report, or of a comparison, as text.
bool is_report_text(std::string_view line) {
  const size_t process = line.find(", process ");
  return line.starts_with("A: ") || (process != std::string_view::npos &&
                                     line.find(" traced, ", process) != std::string_view::npos);
}

}  // namespace

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

bool holds_something_else(const std::string& output, std::initializer_list<Written> kinds) {
  std::error_code error;
  if (!fs::is_regular_file(output, error)) return false;
  std::string begin(512, '\0');
  std::ifstream file(output, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  const std::string line = begin.substr(0, begin.find('\n'));
  std::erase_if(begin,
                [](char c) { return std::string_view(" \t\r\n").find(c) != std::string::npos; });
  return !begin.empty() && std::none_of(kinds.begin(), kinds.end(), [&](Written kind) {
    return kind == Written::kReportText ? is_report_text(line) : begins_like(begin, kind);
  });
}

std::string overwrites_other(const std::string& output, std::initializer_list<Written> kinds) {
  if (!holds_something_else(output, kinds)) return {};
  return fmt::format(
      "{} exists and is nothing that Tutti has written there; remove it, or name another file",
      output);
}

}  // namespace tutti
