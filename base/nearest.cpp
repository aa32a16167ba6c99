// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>

#include "base/lower_case.h"

namespace tutti {

size_t edit_distance(std::string_view a, std::string_view b) {
  const std::string x = lower_case(a), y = lower_case(b);
  // Three rows of the table: of the last letter but one, of the last one, and of this one.
  std::vector<size_t> before(y.size() + 1), last(y.size() + 1), row(y.size() + 1);
  for (size_t j = 0; j <= y.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= x.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= y.size(); ++j) {
      const size_t replaced = last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[y.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t kMost = 3, kShortestBeginning = 3, kLongestWord = 64;
  std::vector<std::pair<size_t, std::string>> near;
  if (word.empty() || word.size() > kLongestWord) return {};
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    const bool begins =
        word.size() >= kShortestBeginning && lower_case(candidate).starts_with(lower_case(word));
    const size_t most = std::max<size_t>(1, std::min(word.size(), candidate.size()) / 3);
    if (distance <= most || begins) near.emplace_back(begins ? 0 : distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, name] : near) {
    // What is much farther than the nearest one was not meant.
    if (names.size() == kMost || distance > near.front().first + 1) break;
    names.push_back(name);
  }
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string text;
  const std::vector<std::string> names = nearest(word, known);
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "; did you mean " : i + 1 < names.size() ? ", " : " or ") + names[i];
  }
  return text.empty() ? ";" : text + "?";
}

}  // namespace tutti
