// SPDX-License-Identifier: Apache-2.0
// Whether the vendors' drivers may still be called: not once the process is exiting (their own
// destructors may have run) and not in a forked child (their threads and locks did not come along);
// and what the exit of the process waits for. Thread-safe; a check costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti {

namespace process_exit_detail {
extern std::atomic<bool> vendors_gone;
/// How long nothing may end of what process exit waits for: it hangs, then. Tests have less.
extern std::atomic<uint64_t> patience_ns;
}  // namespace process_exit_detail

inline bool vendors_gone() {
  return process_exit_detail::vendors_gone.load(std::memory_order_relaxed);
}

/// Before any vendor is loaded: vendors_gone() once the process is exiting. A forked child may
/// still load them.
void note_process_exit();
/// To be called after a vendor was loaded, and again after each step that may make it register exit
/// handlers: exit handlers run in reverse order, and ours must run before theirs.
void watch_process_exit();

/// `hook` runs once at process exit, before any vendor's exit handler, when vendors_gone() is
/// already true, in a thread of its own: who calls exit() in a signal handler may have interrupted
/// whoever holds what the hook needs. Not run in forked children.
void set_exit_hook(void (*hook)());

/// While a thread has one, process exit waits for it before vendors' exit handlers run, which a
/// call of a vendor that is under way does not always survive. It never waits for ever: not for the
/// thread that exits, and no longer than some seconds where none of them ends, since devices may
/// hang and a signal handler may exit where it has interrupted who is waited for. One begun later
/// holds nothing; then vendors_gone().
class ExitHold {
 public:
  ExitHold();
  ~ExitHold();
  ExitHold(const ExitHold&) = delete;
  ExitHold& operator=(const ExitHold&) = delete;

 private:
  const bool outermost_;  // of this thread
};

/// While one lives, the calling thread runs a function of the application's: process exit does not
/// wait for it. It may call exit() itself.
class ApplicationCode {
 public:
  ApplicationCode();
  ~ApplicationCode();
  ApplicationCode(const ApplicationCode&) = delete;
  ApplicationCode& operator=(const ApplicationCode&) = delete;

  static bool runs_in_this_thread();

 private:
  const bool held_;   // the thread's exit hold, which goes on afterwards
  const bool outer_;  // there is one around it
};

}  // namespace tutti
