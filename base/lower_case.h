// SPDX-License-Identifier: Apache-2.0
// ASCII lower case, whatever the application's locale is. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Whether `part` occurs in `text`, case aside.
inline bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return lower_case(text).find(lower_case(part)) != std::string::npos;
}

}  // namespace tutti
