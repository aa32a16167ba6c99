// SPDX-License-Identifier: Apache-2.0
// The strip beside the picture: which device computed which rows. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "picture.h"

namespace tutti::demo {

/// Consecutive rows that one device computed in one launch.
struct Package {
  std::string device;
  std::size_t index = 0;  ///< tells apart devices of the same name
  std::size_t first_row = 0;
  std::size_t last_row = 0;  ///< inclusive
};

/// Reads [{"device": "name", "index": 0, "first_row": 0, "last_row": 99}, …], or an object with
/// that array as "packages". Throws std::runtime_error that says what is wrong.
std::vector<Package> read_packages(const std::string& path);

/// The picture, and at its right the strip and its legend.
Surface with_strip(const Picture& picture, const std::vector<Package>& packages);

}  // namespace tutti::demo
