// SPDX-License-Identifier: Apache-2.0
// Names in one text, as OpenCL lists kernels. Pure function.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tutti {

/// "a;b" as a list, without empty names.
inline std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream rest(names);
  for (std::string name; std::getline(rest, name, ';');) {
    if (!name.empty()) list.push_back(std::move(name));
  }
  return list;
}

}  // namespace tutti
