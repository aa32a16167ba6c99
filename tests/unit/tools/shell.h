// SPDX-License-Identifier: Apache-2.0
// Runs a command as a shell does. Used by one thread.
#pragma once

#include <string>

namespace tutti {

struct Outcome {
  int code = -1;
  std::string output;  // stdout and stderr
};

Outcome shell(const std::string& command);

}  // namespace tutti
