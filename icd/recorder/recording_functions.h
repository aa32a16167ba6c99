// SPDX-License-Identifier: Apache-2.0
// The dispatch table with recording functions before the entry points, and its installation. The
// table is immutable once made.
#pragma once

#include <CL/cl_icd.h>

#include <string_view>

namespace tutti::icd::recorder {

/// Begins a record if TUTTI_RECORD asks for one: from then on new handles lead to the recording
/// functions. To be called before the first handle is made; later calls do nothing. Thread-safe.
void start_if_wanted();

/// The recording function of an extension; null when there is none, or nothing is recorded.
void* extension_function(const char* name) noexcept;
/// Likewise of cl_khr_gl_sharing, whose functions stand in the table, too.
void* gl_function(std::string_view name);

class RecordedCall;
/// Log and record say once what the record goes on without.
void note_not_recorded(RecordedCall& call, const char* text);
/// The same of a memory object that another interface has made: the record has one without content
/// in its place. False: it is none such, or nothing is recorded.
bool note_external(RecordedCall& call, cl_mem memory);

// Their part of the table; each fills in the slots of its functions.
void add_plain_calls(cl_icd_dispatch& table);
void add_object_calls(cl_icd_dispatch& table);
void add_transfer_calls(cl_icd_dispatch& table);
void add_gl_calls(cl_icd_dispatch& table);

}  // namespace tutti::icd::recorder
