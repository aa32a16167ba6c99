// SPDX-License-Identifier: Apache-2.0
// A launch in a command buffer, as it is enqueued each time. Immutable, so that an update puts
// another one in its place, while enqueuing in other threads goes on with this; its argument set is
// shared with the commands in flight. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/ref_counted.h"
#include "device_virtual/kernel.h"
#include "device_virtual/kernel_arguments.h"
#include "scheduler/command/work.h"

namespace tutti::device_virtual {

/// The sizes of a launch as the application has given them, zeros for those that are NULL.
struct GivenRange {
  cl_uint dims = 0;
  bool local_given = false;
  std::array<size_t, 3> offset{}, global{}, local{};

  /// With those that are not NULL in place of what was.
  void replace(const size_t* new_offset, const size_t* new_global, const size_t* new_local);
};

struct RecordedLaunch {
  RecordedLaunch(scheduler::KernelWork launch, const GivenRange& given, bool all_set,
                 Ref<Kernel> own_kernel)
      : work(std::move(launch)),
        arguments(*work.arguments),
        range(given),
        complete(all_set),
        own(std::move(own_kernel)) {}

  const scheduler::KernelWork work;
  mutable KeptArguments arguments;  // has no state
  const GivenRange range;
  const bool complete;    // all arguments are set, else it cannot be enqueued
  const Ref<Kernel> own;  // has the values that an update begins with; null: there are no updates
};
using RecordedLaunches = std::vector<std::shared_ptr<const RecordedLaunch>>;

}  // namespace tutti::device_virtual
