// SPDX-License-Identifier: Apache-2.0
// Finds out whether a device works on the host's own memory. Thread-safe.
#pragma once

#include "backends/opencl/vendor_functions.h"

namespace tutti::backends {

/// Whether a CL_MEM_USE_HOST_PTR buffer *is* the host's memory on this device, without mapping:
/// tried with real commands in both directions, at an aligned and at an odd address. The answer is
/// remembered per device for the process. False wherever anything fails.
bool shares_host_memory(const VendorFunctions& cl, cl_device_id device, cl_context context);

}  // namespace tutti::backends
