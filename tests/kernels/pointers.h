// SPDX-License-Identifier: Apache-2.0
// Gives a vendor's platform cl_intel_unified_shared_memory and cl_ext_buffer_device_address, made
// of its fine-grained shared virtual memory, so that Tutti's can be tried where no vendor has them.
#pragma once

#include <CL/cl_icd.h>

namespace tutti::kernel_fuzz {

/// Those that the platform lacks; nothing where it lacks the memory, too. Before Tutti's first use
/// of it; once.
void give_pointers(cl_platform_id platform);

void make_writable(void* entry);
/// Changes an entry of a vendor's dispatch table.
template <typename Function>
void replace(Function& entry, Function by) {
  make_writable(&entry);
  entry = by;
}

}  // namespace tutti::kernel_fuzz
