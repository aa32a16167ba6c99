// SPDX-License-Identifier: Apache-2.0
// The table that the ICD loader calls through: every slot is filled. Immutable, thread-safe.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>

#include "icd/entry/entries.h"

namespace tutti::icd {

/// As a loader of OpenCL 3.1 reads it: older headers end before the last slot.
struct DispatchTable {
  cl_icd_dispatch before;
  decltype(&icd::clGetKernelSuggestedLocalWorkSize) suggested_local_size;
};
static_assert(offsetof(DispatchTable, suggested_local_size) == sizeof(cl_icd_dispatch));

const DispatchTable& dispatch_table();

}  // namespace tutti::icd
