// SPDX-License-Identifier: Apache-2.0
// Vendors' compilers side by side. Pure function.
#pragma once

#include <bit>
#include <deque>
#include <latch>
#include <system_error>

#include "base/task_thread.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::device_virtual {

/// Calls `work(i)`, which must not throw, for every wanted backend, each in a thread of its own,
/// the first one in this. Returns when all have ended.
template <typename Work>
void on_each_backend(scheduler::BackendMask wanted, const Work& work) {
  if (wanted == 0) return;
  const auto first = static_cast<uint32_t>(std::countr_zero(wanted));
  std::latch ended(std::popcount(wanted) - 1);
  std::deque<TaskThread> threads;  // gone before `ended`, also where memory lacks for one more
  for (auto rest = wanted & (wanted - 1); rest != 0; rest &= rest - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(rest));
    try {
      threads.emplace_back("tutti-build").post([&work, &ended, i] {
        work(i);
        ended.count_down();
      });
    } catch (const std::system_error&) {
      work(i);  // no thread to be had: one after the other, then
      ended.count_down();
    }
  }
  work(first);
  ended.wait();
}

}  // namespace tutti::device_virtual
