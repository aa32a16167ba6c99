// SPDX-License-Identifier: Apache-2.0
// What a programmer would write to use several devices in plain OpenCL: a context, a queue and a
// host thread per device, one part of the range each by global work offsets, inputs sent to whoever
// needs them, outputs gathered in the host's arrays. The peer that a driver has to match.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "array_benchmark.h"
#include "runner.h"

namespace tutti::bench {

/// The benchmark does not say how to divide it (KernelBenchmark::divisible).
class NotDivisible : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct HandSplitResult {
  RunResult run;
  std::vector<Part> parts;  ///< one per device
};

/// The devices of a comma list of PLATFORM/DEVICE, each an index or a part of a name.
std::vector<DeviceChoice> choose_devices(const std::string& list);

/// The parts of `groups` in proportion to `shares`, which must be positive in sum.
std::vector<Part> cut(std::size_t groups, const std::vector<double>& shares);

/// Runs `entry` as run_benchmark does, but on all sessions together. `shares`: one per session;
/// empty: by the speed of each alone, which is measured first.
HandSplitResult run_hand_split(const std::vector<Session>& sessions, const Entry& entry,
                               const RunOptions& options, std::vector<double> shares);

}  // namespace tutti::bench
