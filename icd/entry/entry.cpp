// SPDX-License-Identifier: Apache-2.0
#include "icd/entry/entry.h"

#include "base/cl_error_name.h"

namespace tutti::icd {

void report_error(const char* entry_point, const Error& error) noexcept {
  if (!log_enabled(LogLevel::kDebug)) return;
  try {
    log(LogLevel::kDebug, "{}: {}{}{}", entry_point, cl_error_name(error.code),
        error.message.empty() ? "" : ": ", error.message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line of the log
  }
}

}  // namespace tutti::icd
