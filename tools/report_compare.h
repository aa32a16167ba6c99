// SPDX-License-Identifier: Apache-2.0
// `tutti report --compare`: two runs side by side, each from a trace or from a summary
// (TUTTI_SUMMARY=FILE.json). Pure but for read_run().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::tools {

/// A kernel in one run. What is absent the file does not tell.
struct RunKernel {
  std::string name;
  uint64_t launches = 0, split = 0;
  std::optional<double> seconds;       // of all launches
  std::optional<double> gain;          // of split launches, against the best single device
  double split_share() const;          // of the launches
  std::optional<double> each() const;  // seconds
};

struct Run {
  std::string source, program;  // the program is empty in a summary
  bool complete = true;
  uint64_t lost = 0;
  std::optional<double> seconds;  // of the whole trace
  std::vector<RunKernel> kernels;
};

/// The error's message is for a person, and names the file.
Result<Run> read_run(const std::string& path);

/// A kernel in both runs, or in one.
struct ComparedKernel {
  std::string name;
  std::optional<RunKernel> a, b;
  std::optional<double> ratio;  // B's seconds by A's
  std::optional<double> each;   // the same for one launch
};

struct Comparison {
  Run a, b;
  std::vector<ComparedKernel> kernels;                // the largest difference of time first
  std::optional<double> a_seconds, b_seconds, ratio;  // of the kernels that are in both
};

Comparison compare_runs(Run a, Run b);

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
std::string comparison_page(const Comparison& comparison);

}  // namespace tutti::tools
