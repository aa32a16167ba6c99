// SPDX-License-Identifier: Apache-2.0
// Makes the vendors' devices in this process look as if their memory were not the host's: what a
// buffer is given with CL_MEM_USE_HOST_PTR is copied. Tutti, which tries this out, then moves data
// between them, as between GPUs; on devices that share memory no wrong transfer would ever show.
// And a buffer that is given nothing holds something else each time.
#pragma once

#include <cstdint>

namespace tutti::kernel_fuzz {

enum class Apart : uint8_t {
  kNone,
  kHalf,  // every second vendor only; the others go on sharing
  kAll,
  kGpus,  // all devices say that they are GPUs, whose memory Tutti takes for apart
};

/// Of all vendors in TUTTI_VENDORS, or in the system's folder. Before the loader's first use, at
/// which Tutti tries the devices out; once.
void keep_memory_apart(Apart apart);

}  // namespace tutti::kernel_fuzz
