// SPDX-License-Identifier: Apache-2.0
// Checks what the access summary says of a launch against what the launch's groups really touch.
#pragma once

#include <random>
#include <vector>

#include "device.h"
#include "kernel_compiler/compiler_client.h"
#include "scheduler/access/access_eval.h"

namespace tutti::kernel_fuzz {

/// Compiles as the driver would for a device that offers this. `options`: for clBuildProgram.
/// Throws std::runtime_error.
kernel_compiler::CompileOutput compiled(const std::string& source, const Device& device,
                                        const std::string& options);

/// A launch as the planner sees it.
struct EvaluatedLaunch {
  scheduler::LaunchShape shape;  // with the local size decided
  scheduler::LaunchAccess access;
  // The device of the shared virtual memory computes it: because it may use all of that; because it
  // may go back from an argument.
  bool reaches = false, at_home = false;
  std::vector<bool> written;  // by argument: whether the kernel may write through it
  bool split() const {
    return !reaches && !at_home && access.verdict().mode != scheduler::MergeMode::kWhole;
  }
  uint64_t slices() const { return shape.groups(access.verdict().dimension); }
};
EvaluatedLaunch evaluated(const scheduler::KernelSummary& summary, const KernelCase& kernel,
                          uint64_t max_work_group);

struct ClaimResult {
  std::string violation;  // empty: the claims hold
  bool split = false;     // the summary allows to split this launch
  uint32_t checked = 0;   // packages
};

/// `plain`, `twin`: its program on `device`, and the recording one. `packages`: how many are tried
/// of a launch that may be split; one that may not is checked as a whole.
ClaimResult check_claims(const scheduler::KernelSummary& summary, const KernelCase& kernel,
                         uint64_t number, Device& device, const Program& plain, const Program& twin,
                         uint32_t packages, uint64_t max_work_group, std::mt19937_64& random);

}  // namespace tutti::kernel_fuzz
