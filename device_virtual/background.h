// SPDX-License-Identifier: Apache-2.0
// Work that is left to a thread of ours (builds with a callback, waits for semaphores). The
// process's exit waits for it, as for all that such threads do. Thread-safe.
#pragma once

#include <functional>

#include "base/result.h"

namespace tutti::device_virtual {

/// Runs `work`, then `after`, in a thread that does nothing else meanwhile. What they throw is
/// forgotten. CL_OUT_OF_HOST_MEMORY when there is no thread to be had; then neither runs.
Status run_in_background(std::function<void()> work, std::function<void()> after);

}  // namespace tutti::device_virtual
