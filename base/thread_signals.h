// SPDX-License-Identifier: Apache-2.0
// Which signals threads of ours take. Thread-safe: a mask belongs to one thread.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tutti {

/// What threads of ours block: the application's signals are the affair of its own threads. Not
/// those of what a thread does itself: PoCL handles a kernel's integer division by zero in the
/// thread that computes it, and a signal of that kind that is blocked ends the process.
inline sigset_t signals_of_the_application() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&signals, own);
  }
  return signals;
}

/// While one lives, the calling thread has this mask; a thread that it starts inherits it.
class SignalMask {
 public:
  explicit SignalMask(const sigset_t& blocked) { pthread_sigmask(SIG_SETMASK, &blocked, &before_); }
  ~SignalMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tutti
