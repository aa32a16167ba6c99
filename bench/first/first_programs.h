// SPDX-License-Identifier: Apache-2.0
// The programs that tutti-first runs once per process: short ones, of which much of the time is
// building. Each makes its inputs, builds, launches, and reads its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cl_objects.h"

namespace tutti::bench {

struct FirstProgram {
  const char* name;
  const char* title;     // one line
  std::size_t size;      // unless the command line says another
  std::size_t launches;  // likewise
  /// A digest of the results, the same on every platform.
  uint64_t (*run)(const Session&, std::size_t size, std::size_t launches);
};

std::span<const FirstProgram> first_programs();

}  // namespace tutti::bench
