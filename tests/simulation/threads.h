// SPDX-License-Identifier: Apache-2.0
// All threads of a program as one: each has a stack of its own, and which of them goes on is drawn
// by a seed wherever one waits, wakes another up, or takes or gives a lock. Time passes by the
// number of such steps, and jumps ahead where nobody can go on before. What is waited for, and how,
// is the program's own affair: pthread_calls.cpp stands in for what the C library offers, so that
// the code under test is the one that is delivered. One run per process, since what hangs cannot be
// taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti::simulation {

struct ThreadOptions {
  uint64_t seed = 1;
  /// Of so many steps at which a thread could go on, one lets another go on; 0: none does.
  uint32_t switch_one_in = 8;
  /// Threads have priorities, which change now and then: some wait for very long.
  bool priorities = false;
  /// More are taken for a hang: the threads go on, and nothing ends.
  uint64_t most_steps = 3'000'000;
};

struct ThreadsOutcome {
  bool hangs = false;
  uint64_t steps = 0;
  uint64_t ended_ns = 0;  // the run's own time
  uint64_t digest = 0;    // of all choices
  uint32_t threads = 0;   // the most at a time
};

/// Runs `program` and all threads that it starts, until they have ended or wait for ever. Where
/// that hangs, says on stderr who waits where.
ThreadsOutcome run_as_one(const ThreadOptions& options, const std::function<void()>& program);

/// In a run: draws from [0, below).
uint64_t draw(uint64_t below);
/// In a run: the creation of a thread fails, the `number`th from now on; 0: of none.
void fail_thread(uint32_t number);
/// In a run: its own time.
uint64_t run_ns();
/// The same for who waits until it has come: it passes a little.
uint64_t clock_ns();
/// In a run: the calling thread goes on after so long.
void let_pass(uint64_t ns);
/// In a run: the calling thread's name, and its number.
const char* thread_name();

}  // namespace tutti::simulation
