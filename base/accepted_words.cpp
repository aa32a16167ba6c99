// SPDX-License-Identifier: Apache-2.0
#include "base/accepted_words.h"

#include <algorithm>
#include <regex>

namespace tutti {

std::vector<std::string> accepted_words(std::string_view accepted) {
  constexpr std::string_view kList = "one of ";
  if (const size_t list = accepted.find(kList); list != accepted.npos) {
    accepted.remove_prefix(list + kList.size());
  }
  static const auto& pattern = *new std::regex(R"(([a-z]+)(\[\S*\])?)");
  std::vector<std::string> words;
  for (std::string rest(accepted); !rest.empty();) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    const std::string item = rest.substr(0, comma);
    std::smatch found;
    if (!std::regex_match(item, found, pattern)) return {};
    words.push_back(found[1]);
    rest.erase(0, comma + 2);
  }
  return words;
}

}  // namespace tutti
