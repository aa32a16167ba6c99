// SPDX-License-Identifier: Apache-2.0
// Several things done at the same time, by threads of ours that nobody else sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

/// Runs all tasks and returns when all have ended: the first in the calling thread, each other in a
/// thread of its own called `name` (at most 15 characters), or in the calling thread, too, where
/// there is no thread to be had. The first error in the order of the tasks; what a task throws is
/// one (guarded()).
Status all_at_once(const std::string& name, const std::vector<std::function<Status()>>& tasks);

}  // namespace tutti
