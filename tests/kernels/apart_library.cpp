// SPDX-License-Identifier: Apache-2.0
// keep_memory_apart() for any program: LD_PRELOAD this library. TUTTI_TEST_APART: none, half or
// gpus. TUTTI_TEST_LINK: buffers lie behind a link of so many MB/s, and what passes it does so
// beside kernels, which PoCL's transfers of its own wait for.
// TUTTI_TEST_POINTERS: give_pointers() and give_built_in_kernels(), too; TUTTI_TEST_SHARING:
// give_sharing().
#include <cstdlib>
#include <string_view>

#include "apart.h"

namespace {

__attribute__((constructor)) void keep_apart() {
  using tutti::kernel_fuzz::Apart;
  const char* text = std::getenv("TUTTI_TEST_APART");
  const std::string_view which = text != nullptr ? text : "";
  tutti::kernel_fuzz::keep_memory_apart(which == "none"   ? Apart::kNone
                                        : which == "half" ? Apart::kHalf
                                        : which == "gpus" ? Apart::kGpus
                                                          : Apart::kAll);
}

}  // namespace
