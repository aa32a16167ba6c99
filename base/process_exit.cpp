// SPDX-License-Identifier: Apache-2.0
#include "base/process_exit.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/calling_threads.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/keep_forever.h"
#include "base/own_thread.h"
#include "base/thread_annotations.h"

namespace tutti {

namespace process_exit_detail {
std::atomic<bool> vendors_gone{false};
std::atomic<uint64_t> patience_ns{5'000'000'000};
}  // namespace process_exit_detail

namespace {

std::atomic<void (*)()> exit_hook{nullptr};
std::atomic<uint32_t> holds{0};  // threads that hold
std::atomic<uint32_t> hooks{0};  // that run
std::atomic<bool> in_child{false};

thread_local bool holds_now = false;  // counted in `holds`
thread_local bool in_application_code = false;

struct Exit {
  Mutex mutex;
  ConditionVariable changed;
  // Whether waiting for them was in vain.
  bool holds_hang TUTTI_GUARDED_BY(mutex) = false;
  bool hooks_hang TUTTI_GUARDED_BY(mutex) = false;
};

// Never destroyed: other threads still let go while exit handlers run.
Exit& exit_state() {
  static NeverDestroyed<Exit> state;
  return *state;
}

// In the order of all such steps: who holds after this sees it, and who held before is seen.
void mark_gone() { process_exit_detail::vendors_gone.store(true); }

void forget_exit() {
  exit_hook.store(nullptr);
  in_child.store(true);
  mark_gone();
}

bool begin_hold() {
  holds.fetch_add(1);
  if (!process_exit_detail::vendors_gone.load()) return true;
  holds.fetch_sub(1);
  return false;
}

void end_hold() {
  holds.fetch_sub(1);
  if (!vendors_gone() || in_child.load()) return;
  Exit& state = exit_state();
  const MutexLock lock(state.mutex);
  state.changed.notify_all();
}

/// Waits until `left`, which falls, is at most `least`, or it hangs.
void wait_patiently(Exit& state, const std::atomic<uint32_t>& left, uint32_t least, bool& hangs)
    TUTTI_REQUIRES(state.mutex) {
  const uint64_t patience_ns = process_exit_detail::patience_ns.load();
  uint64_t until = now_ns() + patience_ns;
  for (uint32_t before = left.load(); before > least && !hangs;) {
    const uint64_t now = now_ns();
    if (now >= until) {
      hangs = true;
      return;
    }
    state.changed.wait_for(state.mutex, static_cast<unsigned>((until - now) / 1'000'000 + 1));
    const uint32_t rest = left.load();
    if (rest < before) until = now_ns() + patience_ns;
    before = rest;
  }
}

void run_hook(void (*hook)()) {
  static_cast<void>(guarded(hook));
  Exit& state = exit_state();
  const MutexLock lock(state.mutex);
  hooks.fetch_sub(1);
  state.changed.notify_all();
}

// It does not end: when main has ended by pthread_exit, whoever ends last calls exit().
void* hook_thread(void* hook) {
  note_own_thread();
  pthread_setname_np(pthread_self(), "tutti-exit");
  run_hook(reinterpret_cast<void (*)()>(hook));
  for (;;) pause();
  return nullptr;
}

void leave_process() {
  if (in_child.load()) return;
  mark_gone();
  Exit& state = exit_state();
  {
    const MutexLock lock(state.mutex);
    wait_patiently(state, holds, holds_now ? 1 : 0, state.holds_hang);
  }
  if (auto* hook = exit_hook.exchange(nullptr)) {
    hooks.fetch_add(1);
    void* const argument = reinterpret_cast<void*>(hook);
    if (!guarded([&] { start_unseen_thread(hook_thread, argument); })) run_hook(hook);
  }
  const MutexLock lock(state.mutex);
  wait_patiently(state, hooks, 0, state.hooks_hang);
}

}  // namespace

void note_process_exit() {
  // When a registration fails (no memory) the earlier ones still stand.
  (void)std::atexit(leave_process);
}

void watch_process_exit() {
  note_process_exit();
  static const int registered = pthread_atfork(nullptr, nullptr, forget_exit);
  (void)registered;
}

void set_exit_hook(void (*hook)()) { exit_hook.store(hook); }

ExitHold::ExitHold() : outermost_(!holds_now) {
  if (outermost_) holds_now = begin_hold();
}

ExitHold::~ExitHold() {
  if (outermost_ && std::exchange(holds_now, false)) end_hold();
}

ApplicationCode::ApplicationCode()
    : held_(std::exchange(holds_now, false)), outer_(std::exchange(in_application_code, true)) {
  if (held_) end_hold();
}

bool ApplicationCode::runs_in_this_thread() { return in_application_code; }

ApplicationCode::~ApplicationCode() {
  in_application_code = outer_;
  if (held_) holds_now = begin_hold();
}

}  // namespace tutti
