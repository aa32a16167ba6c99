// SPDX-License-Identifier: Apache-2.0
// Summaries taken literally: which bytes a launch touches, by walking through every work-item and
// every iteration. Slow, simple, and separate from the scheduler's evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

struct Launch {
  std::array<uint64_t, 3> global = {1, 1, 1};
  std::array<uint64_t, 3> local = {1, 1, 1};
  std::array<uint64_t, 3> offset = {0, 0, 0};
  std::vector<std::vector<uint8_t>>
      arguments;  // data of scalars; memory objects: any of their size
};

/// For every byte of an argument.
struct Touched {
  std::vector<bool> read;
  std::vector<bool> written;         // possibly
  std::vector<bool> surely_written;  // by accesses that claim to be exact
};

/// By argument index; memory objects only. Offsets outside an object fail the test.
std::map<uint32_t, Touched> touched_bytes(const scheduler::KernelSummary& kernel,
                                          const Launch& launch);

}  // namespace tutti::kernel_compiler
