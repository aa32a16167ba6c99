// SPDX-License-Identifier: Apache-2.0
// Whether the vendors' drivers may still be called: not once the process is exiting (their own
// destructors may have run) and not in a forked child (their threads and locks did not come along).
// Thread-safe; a check costs one relaxed load.
#pragma once

#include <atomic>

namespace tutti {

namespace process_exit_detail {
extern std::atomic<bool> vendors_gone;
}

inline bool vendors_gone() {
  return process_exit_detail::vendors_gone.load(std::memory_order_relaxed);
}

/// To be called after a vendor was loaded, and again after each step that may make it register exit
/// handlers: exit handlers run in reverse order, and ours must run before theirs.
void watch_process_exit();

/// `hook` runs once at process exit, before any vendor's exit handler, when vendors_gone() is
/// already true: the place to end threads. Not run in forked children.
void set_exit_hook(void (*hook)());

}  // namespace tutti
