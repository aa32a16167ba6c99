// SPDX-License-Identifier: Apache-2.0
// A kernel's integer division by zero "does not cause an exception" (OpenCL C, 6.4), but an x86
// processor traps. A driver that runs kernels as the processor's code has a handler of SIGFPE that
// goes on behind the division; where it minds its own threads only, and runs kernels in ours, the
// process would end. A DivisionGuard lies over such calls.
//
// The handler is the process's, installed once and never taken away. A trap in a thread without a
// guard goes to the handler that was there before: what the application does about its own
// divisions stays as it is, also in the threads that launch.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::backends {

/// How many bytes the integer division at `code` has (the processor's 64-bit mode; at most 15 are
/// read). 0: it is none, or this is another processor.
size_t division_length(const uint8_t* code);

/// Installs the handler, once for the process; drivers' own are installed by then. Nothing where
/// divisions do not trap. Thread-safe.
void guard_divisions();

/// Divisions of the calling thread go on behind the trap for as long as it lives, if it is `wanted`
/// and guard_divisions() was called. Guards nest.
class DivisionGuard {
 public:
  explicit DivisionGuard(bool wanted) : held_(wanted) {
    if (held_) enter();
  }
  ~DivisionGuard() { release(); }
  DivisionGuard(const DivisionGuard&) = delete;
  DivisionGuard& operator=(const DivisionGuard&) = delete;

  void release() {
    if (held_) leave();
    held_ = false;
  }

 private:
  static void enter();
  static void leave();
  bool held_;
};

/// Lies over a vendor's call that may install a handler of SIGFPE, if it is `wanted`: afterwards
/// the process has the one that was there before, if there was one.
class DivisionHandlerHold {
 public:
  explicit DivisionHandlerHold(bool wanted);
  ~DivisionHandlerHold();
  DivisionHandlerHold(const DivisionHandlerHold&) = delete;
  DivisionHandlerHold& operator=(const DivisionHandlerHold&) = delete;

 private:
  std::optional<struct sigaction> before_;
};

}  // namespace tutti::backends
