// SPDX-License-Identifier: Apache-2.0
// The faulty vendor's functions: one for each that Tutti uses
// (backends/opencl/vendor_functions.def).
#pragma once

#include <CL/cl_icd.h>

namespace tutti::faulty {

/// Before all else: the order of the devices gives them their numbers.
void note_devices(const cl_icd_dispatch& table, cl_platform_id platform);

/// Puts the hooks into the vendor's own table, after set_vendor() has kept what was there.
void set_hooks(cl_icd_dispatch& table);

}  // namespace tutti::faulty
