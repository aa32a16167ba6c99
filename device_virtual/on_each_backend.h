// SPDX-License-Identifier: Apache-2.0
// Vendors' compilers side by side. Pure function.
#pragma once

#include <bit>
#include <functional>
#include <vector>

#include "base/all_at_once.h"
#include "scheduler/devices/place.h"

namespace tutti::device_virtual {

/// Calls `work(i)`, which must not throw, for every wanted backend, all at once. Returns when all
/// have ended.
template <typename Work>
void on_each_backend(scheduler::BackendMask wanted, const Work& work) {
  std::vector<std::function<Status()>> tasks;
  for (auto rest = wanted; rest != 0; rest &= rest - 1) {
    tasks.emplace_back([&work, i = static_cast<uint32_t>(std::countr_zero(rest))]() -> Status {
      work(i);
      return {};
    });
  }
  static_cast<void>(all_at_once("tutti-build", tasks));
}

}  // namespace tutti::device_virtual
