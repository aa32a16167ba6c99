// SPDX-License-Identifier: Apache-2.0
// Threads of ours, and the one that stands in for the application's where these have all gone: so
// that somebody takes the process's signals as long as any of ours works. Thread-safe.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace tutti {

struct OwnThread {
  pthread_t id{};
  void* stack = nullptr;
  size_t stack_bytes = 0;
};

/// Runs `main(argument)` in a new thread, which blocks the application's signals. Throws
/// std::system_error when there is no thread to be had.
OwnThread start_own_thread(void* (*main)(void*), void* argument);
/// The same for one that never ends: nobody else hears of it, and no lock is needed.
void start_unseen_thread(void* (*main)(void*), void* argument);
void start_unseen_thread(std::function<void()> main);
/// Waits for its end; from itself: lets it go on and end unseen.
void join_own_thread(const OwnThread& thread);
/// To be called by a thread that ends for want of work, last of all: who stands in joins it.
void end_own_thread(const OwnThread& self);

/// To be called when the application's last thread has gone, in that thread: until no thread of
/// ours works, or the application is there again, a thread with the caller's signals stands in for
/// it. It is the last of ours to end.
void stand_in_for_application();
/// To be called when the application is there again.
void end_stand_in();

}  // namespace tutti
