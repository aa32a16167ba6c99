// SPDX-License-Identifier: Apache-2.0
// The table that the ICD loader calls through: every slot is filled. Immutable, thread-safe.
#pragma once

#include <CL/cl_icd.h>

namespace tutti::icd {

const cl_icd_dispatch& dispatch_table();

}  // namespace tutti::icd
