// SPDX-License-Identifier: Apache-2.0
// The dispatch table with recording functions before the entry points, and its installation. The
// table is immutable once made.
#pragma once

#include <CL/cl_icd.h>

namespace tutti::icd::recorder {

/// Begins a record if TUTTI_RECORD asks for one: from then on new handles lead to the recording
/// functions. To be called before the first handle is made; later calls do nothing. Thread-safe.
void start_if_wanted();

/// The recording function of an extension; null when there is none, or nothing is recorded.
void* extension_function(const char* name) noexcept;

// Their part of the table; each fills in the slots of its functions.
void add_plain_calls(cl_icd_dispatch& table);
void add_object_calls(cl_icd_dispatch& table);
void add_transfer_calls(cl_icd_dispatch& table);

}  // namespace tutti::icd::recorder
