// SPDX-License-Identifier: Apache-2.0
// Text for terminals, broken into lines. Pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tutti {

/// Columns that UTF-8 text takes, where each character takes one.
inline size_t text_columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

/// `head`, then the words of `text`, in lines of at most `columns` where words allow it; those
/// after the first begin with `indentation` blanks. Ends with a newline.
inline std::string paragraph(std::string_view head, std::string_view text, size_t indentation,
                             size_t columns) {
  std::string result(head);
  size_t at = text_columns(head);
  bool fresh = true;  // no word stands in this line
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t width = text_columns(word);
    if (at > indentation && at + (fresh ? 0 : 1) + width > columns) {
      while (!result.empty() && result.back() == ' ') result.pop_back();
      result += '\n' + std::string(indentation, ' ');
      at = indentation;
      fresh = true;
    }
    if (!fresh) result += ' ';
    at += width + (fresh ? 0 : 1);
    result += word;
    fresh = false;
  }
  return result + '\n';
}

}  // namespace tutti
