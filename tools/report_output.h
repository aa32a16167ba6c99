// SPDX-License-Identifier: Apache-2.0
// The report on a trace: as text for a terminal, and as one self-contained HTML page. Pure
// functions.
#pragma once

#include <string>

#include "tools/report_numbers.h"
#include "tools/trace_file.h"

namespace tutti::tools {

std::string report_text(const TraceFile& trace, const ReportNumbers& numbers);
std::string report_json(const TraceFile& trace, const ReportNumbers& numbers);
/// `source` is what the trace is called in the page.
std::string report_page(const TraceFile& trace, const ReportNumbers& numbers,
                        const std::string& source);

/// "1.25 ms", "640 ns"; "12.0 KiB", "640 B": three digits that count.
std::string time_text(uint64_t ns);
std::string bytes_text(uint64_t bytes);
/// "3.42 G" and so on, of a number per second.
std::string rate_text(double rate);

}  // namespace tutti::tools
