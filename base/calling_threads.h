// SPDX-License-Identifier: Apache-2.0
// The application's threads that have called in and have not ended. When the last of them has gone
// while the process goes on (main has called pthread_exit), threads of ours that have nothing to do
// end, too, so that they do not keep the process alive. Thread-safe; a call of a thread that is
// known costs a test.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/thread_signals.h"

namespace tutti {

namespace calling_threads_detail {
extern thread_local constinit bool known [[gnu::tls_model("initial-exec")]];
extern std::atomic<uint64_t> epoch;
void arrive() noexcept;
}  // namespace calling_threads_detail

/// To be called where the application calls in.
inline void note_calling_thread() noexcept {
  if (!calling_threads_detail::known) [[unlikely]]
    calling_threads_detail::arrive();
}

/// To be called first of all in a thread of ours, which then never counts: from there the
/// application calls in callbacks.
void note_own_thread() noexcept;

/// Grows when the application's first thread calls in, and when its last one has gone.
inline uint64_t application_epoch() noexcept {
  return calling_threads_detail::epoch.load(std::memory_order_acquire);
}

/// Threads of the application have called in, and all of them have ended.
inline bool application_gone() noexcept {
  const uint64_t epoch = application_epoch();
  return epoch != 0 && epoch % 2 == 0;
}

/// While one lives, a thread of ours takes the signals that the application's threads took when the
/// last of them came: for calls in which a vendor starts threads, which inherit that, as they would
/// from the application. Nobody would take SIGTERM where vendors' threads alone are left.
class ApplicationSignals {
 public:
  ApplicationSignals();

 private:
  std::optional<SignalMask> mask_;
};

/// `hook` runs whenever application_epoch() has grown, in the thread that comes or goes.
void set_calling_threads_hook(void (*hook)()) noexcept;

}  // namespace tutti
