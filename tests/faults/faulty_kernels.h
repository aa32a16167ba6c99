// SPDX-License-Identifier: Apache-2.0
// What a faulty vendor's kernels write. All functions may be called from any thread.
#pragma once

#include <CL/cl.h>

#include <cstddef>

#include "faulty_commands.h"

namespace tutti::faulty {

/// A buffer or an image that was made.
void note_memory(cl_mem memory);
/// clSetKernelArg() was called with that.
void note_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value);

/// Runs a kernel and changes the first byte that it has changed.
cl_int run_wrongly(const Command& described, cl_kernel kernel);

}  // namespace tutti::faulty
