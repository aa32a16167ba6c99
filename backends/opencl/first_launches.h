// SPDX-License-Identifier: Apache-2.0
// What a driver compiles at a kernel's first launch of each shape (PoCL's work-group functions, one
// at a time in a process: Quirks::serial_builds) is compiled in the helper process that has built
// the program for the device, side by side with other devices' (VendorBuilder): the launch then
// finds it on disk. In the helper the launch waits for an event that never ends, so that nothing
// runs. Only drivers that compile in the enqueuing call gain by it; the others do as they would
// have done, and so does a device whose helper crashes with it.
#pragma once

#include <CL/cl.h>

#include <string>

#include "backends/api/backend.h"
#include "backends/opencl/opencl_objects.h"
#include "backends/opencl/vendor_builder.h"

namespace tutti::backends {

/// For the kernels of a program that was built so. The builder outlives them.
MakeAhead first_launches(VendorBuilder& builder, BuiltText text);

/// A launch as text, for launch_in_helper(): the kernel's name, sizes, what its arguments are.
/// Empty where it has other arguments than buffers, local memory and values.
std::string launch_text(const std::string& kernel, const Launch& launch);

/// In a helper: enqueues such a launch of a kernel of `program`, whose turn never comes. What fails
/// is found again, and told, where it is launched next.
void launch_in_helper(const VendorDevice& device, cl_context context, cl_program program,
                      const std::string& launch);

}  // namespace tutti::backends
