// SPDX-License-Identifier: Apache-2.0
// What somebody may have meant who wrote a name that does not exist. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// Insertions, deletions, replacements and exchanges of neighbours between two words (the optimal
/// string alignment distance), whatever their case.
size_t edit_distance(std::string_view a, std::string_view b);

/// Those of `known` that are near `word`, the nearest first, three at most: by a mistake in every
/// third letter, or because `word` is their beginning.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean a or b?", or ";" where nothing is near: more follows.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tutti
