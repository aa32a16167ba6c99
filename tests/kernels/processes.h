// SPDX-License-Identifier: Apache-2.0
// A run's processes: the driver reads its settings once in each, and a vendor's crash ends only
// one, which another one follows.
#pragma once

#include "options.h"

namespace tutti::kernel_fuzz {

struct Totals {
  Counts counts;
  uint64_t split = 0;     // kernels split at least once,
  uint64_t streamed = 0;  // streamed,
  uint64_t panels = 0;    // with panels …
  uint64_t watched = 0;   // … of these: who crashes writes no summary
  bool broken = false;    // a process could not do its work
};

/// The calling process itself must not have used OpenCL.
Totals run_processes(const Options& options);

}  // namespace tutti::kernel_fuzz
