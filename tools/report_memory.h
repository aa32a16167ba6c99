// SPDX-License-Identifier: Apache-2.0
// The memory of each device in a report, from the counters in the trace. A pure function of it.
#pragma once

#include "tools/report_numbers.h"

namespace tutti::tools {

/// Fills in what `report`'s devices have of memory.
void add_memory(const TraceFile& trace, ReportNumbers& report);

}  // namespace tutti::tools
