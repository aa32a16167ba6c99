// SPDX-License-Identifier: Apache-2.0
// Objects of OpenGL in a vendor's context (cl_khr_gl_sharing).
#pragma once

#include "backends/opencl/vendor_functions.h"

namespace tutti::backends {

/// Whether the driver has all functions that it takes.
bool has_gl_sharing(const VendorFunctions& cl);

}  // namespace tutti::backends
