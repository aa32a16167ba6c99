// SPDX-License-Identifier: Apache-2.0
// One access of a kernel, evaluated for one launch: internal to the access evaluator. Plain data,
// immutable once made.
#pragma once

#include <vector>

#include "scheduler/access/access_domain.h"

namespace tutti::scheduler {

/// A memory argument's window: `size` bytes at `origin` of root buffer `buffer`.
struct Window {
  uint32_t argument = 0;
  uint64_t buffer = 0;
  uint64_t origin = 0;
  uint64_t size = 0;
  uint64_t unit = 1;  // as of ArgumentValue
};

struct AccessUse {
  const Access* access = nullptr;
  uint32_t domain = 0;
  uint32_t window = 0;         // index into the launch's windows
  bool bounded = false;        // the whole launch's offsets are known to lie in some interval
  bool data = false;           // the offset depends on what is not known before the launch
  affine::Form offset;         // of the first byte, from the argument's pointer
  affine::Interval launch;     // its values in the whole launch
  affine::Band slice[3];       // … per slice along each dimension
  affine::Interval slices[3];  // the slices in which the access may execute
  std::vector<Alternate> alternates;

  bool writes() const { return access->kind != AccessKind::kLoad; }
};

struct EvaluatedLaunch {
  const KernelSummary* summary = nullptr;
  LaunchShape shape;
  std::vector<Window> windows;
  std::vector<AccessDomain> domains;
  std::vector<AccessUse> uses;  // ascending by domain; those that nothing executes are left out
};

}  // namespace tutti::scheduler
