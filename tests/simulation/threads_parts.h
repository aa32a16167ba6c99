// SPDX-License-Identifier: Apache-2.0
// What pthread_calls.cpp needs of the threads of a run.
#pragma once

#include <cstdint>

namespace tutti::simulation {

struct Thread;

/// Whether a run is under way: else there is one thread, which nobody waits for.
bool running();
Thread* this_thread();
/// Null: there are no more to be had.
Thread* start_thread(void* stack, size_t bytes, void* (*main)(void*), void* argument);
/// Returns when it has ended; it is gone then.
void* join_thread(Thread* thread);
void detach_thread(Thread* thread);
void name_thread(Thread* thread, const char* name);

/// Another thread may go on here.
void step();
/// Another one goes on, where there is one.
void yield_to_others();
/// Until wake() of the same address, or, where `until_ns` is not 0, that time: false then.
bool sleep_on(const void* address, const char* what, uint64_t until_ns = 0);
/// At most so many of those that sleep on it; how many.
int wake(const void* address, int most);

}  // namespace tutti::simulation
