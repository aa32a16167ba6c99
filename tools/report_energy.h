// SPDX-License-Identifier: Apache-2.0
// The energy in a report, from the power in the trace: the driver's own account of it
// (scheduler/model/energy_account.h), kept once more.
#pragma once

#include "tools/report_numbers.h"

namespace tutti::tools {

/// Fills in what `report`'s sensors, devices and kernels have of energy.
void add_energy(const TraceFile& trace, ReportNumbers& report);

}  // namespace tutti::tools
