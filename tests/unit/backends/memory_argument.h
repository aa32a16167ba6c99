// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/api/backend.h"

namespace tutti::backends {

/// All of the memory.
inline Argument memory_argument(Memory& memory) {
  Argument argument;
  argument.kind = Argument::Kind::kMemory;
  argument.memory = &memory;
  argument.size = memory.size();
  return argument;
}

}  // namespace tutti::backends
