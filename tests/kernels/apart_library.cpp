// SPDX-License-Identifier: Apache-2.0
// keep_memory_apart() for any program: LD_PRELOAD this library. TUTTI_TEST_APART=half: every second
// vendor.
#include <cstdlib>
#include <string_view>

#include "apart.h"

namespace {

__attribute__((constructor)) void keep_apart() {
  const char* which = std::getenv("TUTTI_TEST_APART");
  tutti::kernel_fuzz::keep_memory_apart(which != nullptr && std::string_view(which) == "half");
}

}  // namespace
