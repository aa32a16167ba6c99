// SPDX-License-Identifier: Apache-2.0
// The ways in which a process ends, by theme.
#pragma once

#include <span>

namespace tutti::endings {

struct Way {
  const char* name;
  /// An exit status, or a signal's name; `end`: when the application's last thread has ended, with
  /// 0, or by SIGTERM, where threads of the vendor's go on.
  const char* end;
  /// The result is the exit status, where it returns.
  int (*run)();
  /// A line that must be among what it writes to stdout; null: there is none.
  const char* says = nullptr;
  /// Words, with blanks between: `tutti` (natively it is not asked for), `fork`, `handler` (a
  /// signal handler does what a sanitizer does not expect), `fault`.
  const char* kind = "";
};

std::span<const Way> exit_ways();
std::span<const Way> late_ways();
std::span<const Way> signal_ways();
std::span<const Way> thread_ways();
std::span<const Way> fork_ways();

}  // namespace tutti::endings
