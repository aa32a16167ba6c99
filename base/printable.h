// SPDX-License-Identifier: Apache-2.0
// Text that a terminal may get, as itself or from a file of ours that somebody looks at. Names of
// devices, kernels and files are what others have written: a control character in one would move
// the cursor, set colours or worse. The one place that says what is shown. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace tutti {

/// Bytes of the character at `at` that a terminal would not show but obey: controls (C0, C1, DEL),
/// marks of direction and of invisible lines, the byte order mark; 0: it is none. `at` begins a
/// character of `bytes` bytes, as utf8_bytes() tells.
inline size_t hidden_bytes(std::string_view text, size_t at, size_t bytes) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::string_view character = text.substr(at, bytes);
  const bool hidden =
      lead < 0x20 || lead == 0x7f ||
      (bytes == 2 && lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0) ||
      (character >= "\xe2\x80\x8b" && character <= "\xe2\x80\x8f") ||
      (character >= "\xe2\x80\xa8" && character <= "\xe2\x80\xae") ||
      (character >= "\xe2\x81\xa0" && character <= "\xe2\x81\xaf") || character == "\xef\xbb\xbf";
  return hidden ? bytes : 0;
}

/// The text with a question mark for each hidden character and each byte that is not UTF-8; but for
/// those of `kept`, which are ASCII.
inline std::string printable(std::string_view text, std::string_view kept = {}) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8_bytes(text, at);
    const bool keep = kept.find(text[at]) != std::string_view::npos;
    if (bytes == 0 || (hidden_bytes(text, at, bytes) > 0 && !keep)) {
      shown += '?';
    } else {
      shown += text.substr(at, bytes);
    }
    at += std::max<size_t>(bytes, 1);
  }
  return shown;
}

/// The number of the character at `at`, which has `bytes` bytes.
inline uint32_t code_point(std::string_view text, size_t at, size_t bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  uint32_t code = bytes == 1 ? byte(0) : byte(0) & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return code;
}

/// "\uXXXX": of the characters of hidden_bytes(), none of which is larger.
inline std::string json_escape(uint32_t code) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[code >> shift & 15];
  return text;
}

/// JSON, which is UTF-8, with escapes for what is hidden in its strings, and for the ASCII
/// characters of `also`. Line breaks stand between its values only. Libraries escape C0 at most.
inline std::string printable_json(std::string_view json, std::string_view also = {}) {
  std::string made;
  made.reserve(json.size() + 1);
  for (size_t at = 0; at < json.size();) {
    const size_t bytes = std::max<size_t>(utf8_bytes(json, at), 1);
    const bool escaped = (json[at] != '\n' && hidden_bytes(json, at, bytes) > 0) ||
                         also.find(json[at]) != std::string_view::npos;
    if (escaped) {
      made += json_escape(code_point(json, at, bytes));
    } else {
      made += json.substr(at, bytes);
    }
    at += bytes;
  }
  return made;
}

}  // namespace tutti
