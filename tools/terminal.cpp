// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tutti::tools {
namespace {

constexpr char kToneEnd = '\x9f';  // the last byte of the mark that ends a tone
constexpr const char* kColours[] = {"\033[1m", "\033[32m", "\033[33m", "\033[31m", "\033[2m"};
constexpr size_t kFewestColumns = 20;

std::string tone_mark(char last) { return std::string(kToneMark) + last; }

/// Cleans the text between tone marks; these become colours, or nothing.
std::string rendered(std::string_view text, bool colours) {
  std::string shown;
  bool on = false;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size();) {
    const bool mark = is_tone_mark(text, at);
    if (!mark && at < text.size()) {
      ++at;
      continue;
    }
    shown += printable(text.substr(begin, at - begin), "\n\t");
    if (mark && colours) {
      const auto tone = static_cast<size_t>(static_cast<unsigned char>(text[at + 2]) - 0x90u);
      if (on) shown += "\033[0m";
      on = tone < std::size(kColours);
      if (on) shown += kColours[tone];
    }
    at += mark ? 3 : 1;
    begin = at;
  }
  return shown + (on ? "\033[0m" : "");
}

void write_all(FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

std::string toned(Tone tone, std::string_view text) {
  return tone_mark(static_cast<char>(0x90 + static_cast<int>(tone))) + std::string(text) +
         tone_mark(kToneEnd);
}

size_t output_columns(size_t otherwise) {
  size_t columns = 0;
  if (const char* given = std::getenv("COLUMNS")) {
    const char* const end = given + std::strlen(given);
    const auto [stop, error] = std::from_chars(given, end, columns);
    if (error != std::errc() || stop != end) columns = 0;
  }
  winsize size{};
  if (columns == 0 && isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return columns == 0 ? otherwise : std::max(columns, kFewestColumns);
}

bool output_has_colours() {
  const char* forbidden = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (!forbidden || !*forbidden) && terminal && *terminal &&
         std::strcmp(terminal, "dumb") != 0;
}

std::string wrapped(std::string_view text, size_t columns) {
  std::string made;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (text_columns(line) <= columns) {
      made += text.substr(0, end + 1);
    } else {
      const size_t begin = std::min(line.find_first_not_of(' '), line.size());
      const std::string lines =
          paragraph(line.substr(0, begin), line.substr(begin), std::min(begin + 2, columns / 2),
                    columns, LongWords::kBreak);
      made += std::string_view(lines).substr(0, lines.size() - (end < text.size() ? 0 : 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return made;
}

std::string plain(std::string_view text) { return rendered(text, false); }

void put(std::string_view text) {
  // Asked once: records have a million lines.
  static const size_t columns = output_columns();
  static const bool colours = output_has_colours();
  write_all(stdout,
            rendered(columns == SIZE_MAX ? std::string(text) : wrapped(text, columns), colours));
}

void put_error(std::string_view text) {
  std::fflush(stdout);
  write_all(stderr, plain(text));
}

void complain(std::string_view command, std::string_view message) {
  put_error(fmt::format("tutti {}: {}\n", command, message));
}

std::string json_text(const nlohmann::ordered_json& value) {
  return printable_json(
             value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

}  // namespace tutti::tools
