// SPDX-License-Identifier: Apache-2.0
//
// What is known to deviate from the specification in vendors' own drivers, read from the table in
// native_deviations.md. A listed test must fail (a pass is reported as well, so that the table
// cannot rot); one that crashes or hangs is not run. Nothing is ever excused for Tutti.
//
// Thread-safety: plain values, used by main() only.
#pragma once

#include <string>
#include <vector>

namespace tutti::api_tests {

struct Deviation {
  std::string test;  // full name, or a pattern with '*'
  bool run;          // false: crashes or hangs
};

// The rows of the table that apply to this platform and device (a row's names are prefixes).
std::vector<Deviation> load_deviations(const std::string& path, const std::string& platform,
                                       const std::string& device);

// Runs all tests under `deviations`; returns the exit code.
int run_tests(const std::vector<Deviation>& deviations);

}  // namespace tutti::api_tests
