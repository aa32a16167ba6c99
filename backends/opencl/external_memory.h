// SPDX-License-Identifier: Apache-2.0
// Memory of other interfaces in a vendor's context (cl_khr_external_memory).
#pragma once

#include "backends/opencl/vendor_functions.h"

namespace tutti::backends {

/// Whether the driver has all functions that it takes.
bool has_external_memory(const VendorFunctions& cl);

}  // namespace tutti::backends
