// SPDX-License-Identifier: Apache-2.0
// Gives a vendor's platform kernels that are built into its devices, made of a program in OpenCL C,
// so that Tutti's can be tried where no vendor has them.
#pragma once

#include <CL/cl_icd.h>

namespace tutti::kernel_fuzz {

/// "test.scale" and "test.sum", in place of its own. Before Tutti's first use of it; once.
void give_built_in_kernels(cl_platform_id platform);

}  // namespace tutti::kernel_fuzz
