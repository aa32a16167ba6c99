// SPDX-License-Identifier: Apache-2.0
#include "base/process_exit.h"

#include <pthread.h>

#include <cstdlib>

namespace tutti {

namespace process_exit_detail {
std::atomic<bool> vendors_gone{false};
}

namespace {
std::atomic<void (*)()> exit_hook{nullptr};

void mark() { process_exit_detail::vendors_gone.store(true, std::memory_order_relaxed); }

void forget() {
  exit_hook.store(nullptr);
  mark();
}

void leave() {
  mark();
  if (auto* hook = exit_hook.exchange(nullptr)) hook();
}
}  // namespace

void watch_process_exit() {
  // When a registration fails (no memory) the earlier ones still stand.
  (void)std::atexit(leave);
  static const int forked = pthread_atfork(nullptr, nullptr, forget);
  (void)forked;
}

void set_exit_hook(void (*hook)()) { exit_hook.store(hook); }

}  // namespace tutti
