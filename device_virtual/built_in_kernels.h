// SPDX-License-Identifier: Apache-2.0
// What a vendor tells of a kernel that is built into its device. No front end sees what it does, so
// it runs whole where it is. Pure but for the questions.
#pragma once

#include <string>

#include "backends/api/backend.h"
#include "base/result.h"
#include "scheduler/access/access_summary.h"

namespace tutti::device_virtual {

/// Of a kernel of this name. CL_KERNEL_ARG_INFO_NOT_AVAILABLE: its vendor tells nothing of its
/// arguments, so that nobody knows which of them are memory objects.
Result<scheduler::KernelSummary> built_in_kernel(backends::Kernel& kernel, const std::string& name);

}  // namespace tutti::device_virtual
