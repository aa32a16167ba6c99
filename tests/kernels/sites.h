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
void add_atomics(Builder& b);

// ---- kinds (offer.h); each is called only where it is offered

/// Loops of compare-and-exchange that update an element.
void add_exchange_loop(Builder& b);
/// Atomics on floating-point numbers.
void add_float_atomics(Builder& b);
/// OpenCL C 3.0's atomics, with an order and a scope.
void add_explicit_atomics(Builder& b);
/// Values of sub-groups, which later values may use, too. Top level only.
void add_sub_group_stage(Builder& b);
/// Values of work-group functions, likewise. Top level only.
void add_collective_stage(Builder& b);
/// Loads, stores and atomics through pointers to any memory. Top level only.
void add_generic(Builder& b);
/// Variables of the program's scope.
void add_variables(Builder& b);
/// Pointers that the kernel finds in shared virtual memory.
void add_followed(Builder& b);
/// Columns of tables.
void add_columns(Builder& b);

/// An element's index of its own for each work-item, and what it stores there.
void store_own(Builder& b, const std::string& value);
/// What ends the arguments of an atomic on the whole device's memory.
std::string order_and_scope(Builder& b);

}  // namespace tutti::kernel_fuzz
