// SPDX-License-Identifier: Apache-2.0
// What a device does, found out with a few small commands rather than by its name. Thread-safe.
#pragma once

#include <optional>

#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

/// Whether a CL_MEM_USE_HOST_PTR buffer *is* the host's memory on this device, without mapping:
/// tried with real commands in both directions, at an aligned and at an odd address. The answer is
/// remembered per device for the process. False, with a line in the log, wherever anything fails.
bool shares_host_memory(const VendorDevice& device, cl_context context);

/// Whether commands run in the thread that enqueues or flushes them: a native kernel notes where it
/// runs. Remembered as above. Nothing where the device runs no native kernels, or where that fails.
std::optional<bool> runs_in_enqueuing_thread(const VendorDevice& device, cl_context context);

/// Whether a buffer over shared memory of this kind is that memory, as the specification has it:
/// tried in both directions. `seen`: the host must see it, too, at its address. Remembered as
/// above. False wherever anything fails. The driver has all functions.
bool shared_memory_is_buffers(const VendorDevice& device, cl_context context, SharedKind kind,
                              bool seen);

/// Whether runs_in_enqueuing_thread() can be tried.
bool runs_native_kernels(const VendorDevice& device);

}  // namespace tutti::backends
