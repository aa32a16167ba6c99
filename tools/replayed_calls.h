// SPDX-License-Identifier: Apache-2.0
// Calls entry points by their names. Pure but for what the called functions do.
#pragma once

#include <string_view>

#include "tools/replay_frame.h"

namespace tutti::tools {

/// Calls the entry point with the recorded arguments; what it returned: a code in frame.code, or an
/// object or pointer. Nothing is called (frame.called) for names that are not in the table.
void* call_recorded(const cl_icd_dispatch& cl, ReplayFrame& frame, const record::Call& call);

/// Is there a way to replay it?
bool is_replayed(std::string_view name);

}  // namespace tutti::tools
