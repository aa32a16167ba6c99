// SPDX-License-Identifier: Apache-2.0
// What of an option's accepted values can be listed. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// The words that a text of config.def accepts: "auto, force, never"; also those after "one of",
/// and what stands before brackets. None where it is prose.
std::vector<std::string> accepted_words(std::string_view accepted);

}  // namespace tutti
