// SPDX-License-Identifier: Apache-2.0
// The launch that `tutti explain` looks at: what the user said of it, and for the rest values that
// a typical launch would have. Pure functions on values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/access/access_eval.h"

namespace tutti::tools {

/// As on the command line; empty means not given.
struct LaunchWishes {
  std::vector<uint64_t> global;
  std::vector<uint64_t> local;
  std::vector<uint64_t> offset;
  std::vector<std::pair<std::string, std::string>> arguments;  // name, value
};

/// One argument's value as chosen, for people.
struct ChosenValue {
  std::string text;  // empty: no access depends on it, or it is a memory object
  bool given = false;
  uint64_t size = 0;  // of a buffer that was given one
};

/// Movable only: `arguments` points into `scalars`.
struct ChosenLaunch {
  ChosenLaunch() = default;
  ChosenLaunch(ChosenLaunch&&) = default;
  ChosenLaunch& operator=(ChosenLaunch&&) = default;

  scheduler::LaunchShape shape;
  bool global_given = false;
  bool local_given = false;  // by the user, or by the kernel's reqd_work_group_size
  std::vector<scheduler::ArgumentValue> arguments;
  std::vector<ChosenValue> values;  // one per argument
  std::vector<std::vector<std::byte>> scalars;
};

/// The size of a buffer whose size was not given: no understood access reaches its end.
inline constexpr uint64_t kLargeBuffer = uint64_t{1} << 40;

/// Errors, all with a message for the user: sizes that do not fit together or to the kernel, values
/// that do not fit their type. Wishes for arguments that the kernel does not have are passed over.
Result<ChosenLaunch> choose_launch(const scheduler::KernelSummary& kernel,
                                   const LaunchWishes& wishes);

/// The wish `name` means this argument: its name, its number, or NAME@BYTES inside a structure.
bool names_argument(const std::string& name, const scheduler::KernelSummary& kernel,
                    size_t argument);

/// Expressions that the kernel's accesses depend on, as flags by index.
std::vector<bool> used_expressions(const scheduler::KernelSummary& kernel);

}  // namespace tutti::tools
