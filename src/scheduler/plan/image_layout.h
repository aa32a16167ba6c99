// SPDX-License-Identifier: Apache-2.0
// What a summary's expressions see of an image argument: the bytes of this structure, as those of a
// scalar. Plain data.
#pragma once

#include <cstdint>

namespace tutti::scheduler {

struct ImageLayout {
  uint64_t row_bytes = 0;  // from one row to the next, in the argument's window
  uint32_t width = 0;      // pixels
  uint32_t height = 0;     // rows
};

}  // namespace tutti::scheduler
