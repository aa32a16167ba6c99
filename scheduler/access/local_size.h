// SPDX-License-Identifier: Apache-2.0
// The work-group size of a launch whose application gave none. Pure function.
#pragma once

#include <cstdint>

#include "scheduler/access/access_eval.h"

namespace tutti::scheduler {

/// Sets `shape.local`: long in dimension 0, where neighbours share cache lines, short in the
/// others, so that slices along them are fine. At most `max_group` work-items; divides the global
/// size.
void choose_local(LaunchShape& shape, uint64_t max_group);

}  // namespace tutti::scheduler
