// SPDX-License-Identifier: Apache-2.0
// Where the driver lies that belongs to this program. Pure look-ups.
#pragma once

#include <string>

#include "platform/result.h"

namespace tutti::tools {

struct DriverFiles {
  std::string vendors_folder;  // holds tutti.icd and nothing else
  std::string library;         // libtutti.so
};
/// Of an installed tree, or of a build tree.
Result<DriverFiles> find_driver();

}  // namespace tutti::tools
