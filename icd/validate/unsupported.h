// SPDX-License-Identifier: Apache-2.0
// The errors of calls that no device supports yet. Thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

/// Logs the entry point's name the first time.
void say_once(const char* entry_point);
/// CL_INVALID_CONTEXT, else CL_INVALID_OPERATION.
Status unsupported_in_context(const char* entry_point, cl_context context);
/// CL_INVALID_COMMAND_QUEUE, else CL_INVALID_OPERATION.
Status unsupported_in_queue(const char* entry_point, cl_command_queue queue);

}  // namespace tutti::icd::validate
