// SPDX-License-Identifier: Apache-2.0
// How fast one real device is: transfers, launches, arithmetic. Measured through its vendor's
// driver, from outside (the host's clock), in a few seconds. Used by one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/vendor_loader.h"

namespace tutti::tools {

/// A value that is absent was not measured: it does not apply (pinned memory of a CPU, double
/// precision without fp64), or `errors` says why.
struct DeviceMeasurement {
  std::optional<double> write, read;                // GB/s from and to pageable memory, median
  std::optional<double> pinned_write, pinned_read;  // GB/s from and to pinned memory, median
  std::optional<double> launch;            // µs to launch and finish an empty kernel, median
  std::optional<double> single_precision;  // GFLOP/s, best: multiply-adds count twice
  std::optional<double> double_precision;  // likewise
  std::vector<std::string> errors;         // "launch latency: CL_…"
};

/// `progress` is told what comes next.
DeviceMeasurement measure(const platform::FoundDevice& device, uint32_t number,
                          const std::function<void(const std::string&)>& progress);

}  // namespace tutti::tools
