// SPDX-License-Identifier: Apache-2.0
// Text for terminals, broken into lines and cut to columns; the one place that counts columns. Pure
// functions.
//
// Text may hold tone marks: noncharacters of Unicode (U+FDD0 and following), which no text has and
// which take no column. Who prints makes colours of them, or takes them away (tools/terminal.h).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tutti {

inline constexpr std::string_view kToneMark = "\xef\xb7";  // and a byte from 0x90 to 0x9f

/// Whether a tone mark, of three bytes, begins there.
inline bool is_tone_mark(std::string_view text, size_t at) {
  return text.substr(at, 2) == kToneMark && at + 2 < text.size() &&
         (static_cast<unsigned char>(text[at + 2]) & 0xf0) == 0x90;
}

/// Bytes of the first so many columns of UTF-8 text, where each character takes one; `taken` is
/// how many there are. Tone marks behind the last one belong to it.
inline size_t bytes_of_columns(std::string_view text, size_t columns, size_t& taken) {
  size_t at = 0;
  for (taken = 0; at < text.size();) {
    if (is_tone_mark(text, at)) {
      at += 3;
      continue;
    }
    if (taken == columns) break;
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
    ++taken;
  }
  return at;
}

/// Columns that UTF-8 text takes, where each character takes one.
inline size_t text_columns(std::string_view text) {
  size_t taken = 0;
  bytes_of_columns(text, std::string_view::npos, taken);
  return taken;
}

/// Blanks behind it, up to so many columns.
inline std::string padded(std::string_view text, size_t columns) {
  const size_t taken = text_columns(text);
  return std::string(text) + std::string(taken < columns ? columns - taken : 0, ' ');
}

/// At most so many columns: the last one gives way to the sign that there is more.
inline std::string cut(std::string_view text, size_t columns) {
  if (text_columns(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  size_t taken = 0;
  return std::string(text.substr(0, bytes_of_columns(text, columns - 1, taken))) + "…";
}

/// Exactly so many columns.
inline std::string fitted(std::string_view text, size_t columns) {
  return padded(cut(text, columns), columns);
}

/// What becomes of words that are longer than a line.
enum class LongWords { kStay, kBreak };

/// `head`, then the words of `text`, in lines of at most `columns` where words allow it; those
/// after the first begin with `indentation` blanks. Ends with a newline.
inline std::string paragraph(std::string_view head, std::string_view text, size_t indentation,
                             size_t columns, LongWords long_words = LongWords::kStay) {
  std::string result(head);
  size_t at = text_columns(head);
  bool fresh = true;  // no word stands in this line
  const auto next_line = [&] {
    while (!result.empty() && result.back() == ' ') result.pop_back();
    result += '\n' + std::string(indentation, ' ');
    at = indentation;
    fresh = true;
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    size_t width = text_columns(word);
    if (at > indentation && at + (fresh ? 0 : 1) + width > columns) next_line();
    while (long_words == LongWords::kBreak && columns > indentation && at + width > columns) {
      size_t taken = 0;
      const size_t bytes = bytes_of_columns(word, columns - std::min(at, columns - 1), taken);
      result += word.substr(0, bytes);
      word.remove_prefix(bytes);
      width -= taken;
      next_line();
    }
    if (!fresh) result += ' ';
    at += width + (fresh ? 0 : 1);
    result += word;
    fresh = false;
  }
  return result + '\n';
}

}  // namespace tutti
