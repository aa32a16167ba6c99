// SPDX-License-Identifier: Apache-2.0
// The pieces that random kernels are made of. Each writes a region of its own.
#pragma once

#include "builder.h"

namespace tutti::kernel_fuzz {

/// Stores to elements of which each belongs to one work-item, in many shapes.
void add_stores(Builder& b);
/// Local memory filled by the group, which later values may read. Top level only: has barriers.
void add_group_stage(Builder& b);
/// Each group's results copied or reduced to global memory. Top level only.
void add_group_result(Builder& b);
/// Atomics of every kind on global memory.
void add_atomics(Builder& b, bool atomics64);

}  // namespace tutti::kernel_fuzz
