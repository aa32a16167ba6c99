// SPDX-License-Identifier: Apache-2.0
// Whose fault it is: vendors' drivers, too, compute kernels wrongly and crash. Each is asked
// without Tutti, in a process of its own, so that it may crash and that nothing of Tutti's can
// matter.
#pragma once

#include <string>
#include <vector>

#include "kernel_case.h"
#include "options.h"

namespace tutti::kernel_fuzz {

/// The kernels, as one program, on every platform but the virtual one, whole and in packages (of
/// the sub-range variant, where there is one): which of them crashes, refuses, or differs from the
/// one compared with, and how. Empty: none, so it is no vendor's fault.
std::string vendors_fault(const std::vector<KernelCase>& kernels, const Options& options);

/// What such a process does, for the platform number `options.natively`; its exit code.
int run_natively(const Options& options);

/// The first platform with a device whose name does not contain `name`; throws where there is none.
std::string first_platform_but(const std::string& name);

}  // namespace tutti::kernel_fuzz
