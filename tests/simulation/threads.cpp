// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "threads_parts.h"

namespace tutti::simulation {

struct Thread {
  uint32_t number = 0;
  std::array<char, 16> name{};
  ucontext_t context{};
  void* (*main)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  void* own_stack = nullptr;  // where it was given none
  enum class State : uint8_t { kReady, kSleeps, kEnded } state = State::kReady;
  bool detached = false;
  bool timed_out = false;
  const void* sleeps_on = nullptr;
  const char* what = "";
  uint64_t until_ns = 0;  // 0: for ever
  uint64_t priority = 0;
  // What is a thread's own while another one runs.
  std::vector<std::byte> variables;
  std::array<std::byte, sizeof(void*) + sizeof(unsigned)> exceptions{};
};

namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr uint64_t kFirstNs = 1'000'000'000;
constexpr uint64_t kStepNs = 100;

/// The program's own thread-local variables, which lie in one piece.
struct OwnVariables {
  std::byte* here = nullptr;
  size_t bytes = 0;
  const std::byte* first = nullptr;  // what they begin with: so many bytes, then zeros
  size_t first_bytes = 0;
};

int find_variables(dl_phdr_info* info, size_t, void* found) {
  auto& own = *static_cast<OwnVariables*>(found);
  own.here = static_cast<std::byte*>(info->dlpi_tls_data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_TLS) continue;
    own.bytes = header.p_memsz;
    own.first = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
    own.first_bytes = header.p_filesz;
  }
  return 1;  // the program itself comes first
}

struct Run {
  ThreadOptions options;
  ThreadsOutcome outcome;
  uint64_t random = 1;
  uint64_t now_ns = kFirstNs;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Thread*> candidates;
  Thread* current = nullptr;
  ucontext_t outside{};
  OwnVariables variables;
  uint32_t started = 0;
  uint32_t until_failing = 0;  // threads; 0: none fails
  bool over = false;
  bool tells = false;  // who is switched to says where it waits
};

Run* run = nullptr;

std::byte* exceptions_here() { return reinterpret_cast<std::byte*>(abi::__cxa_get_globals()); }

uint64_t next_random() {
  // splitmix64
  uint64_t z = (run->random += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

void note(uint64_t value) {
  run->outcome.digest = (run->outcome.digest ^ value) * 0x100000001B3ull;
}

void switch_to(Thread* next) {
  Thread* const last = run->current;
  if (last == next) return;
  const OwnVariables& own = run->variables;
  if (last != nullptr && own.bytes > 0) {
    std::memcpy(last->variables.data(), own.here, own.bytes);
    std::memcpy(last->exceptions.data(), exceptions_here(), last->exceptions.size());
  }
  if (next != nullptr && own.bytes > 0) {
    std::memcpy(own.here, next->variables.data(), own.bytes);
    std::memcpy(exceptions_here(), next->exceptions.data(), next->exceptions.size());
  }
  run->current = next;
  swapcontext(last != nullptr ? &last->context : &run->outside,
              next != nullptr ? &next->context : &run->outside);
}

/// Who may go on, at a time when somebody may; null: nobody ever.
Thread* choose() {
  auto& candidates = run->candidates;
  for (;;) {
    candidates.clear();
    uint64_t earliest = UINT64_MAX;
    for (const auto& thread : run->threads) {
      if (thread->state == Thread::State::kSleeps && thread->until_ns != 0) {
        if (thread->until_ns <= run->now_ns) {
          thread->timed_out = true;
          thread->state = Thread::State::kReady;
        } else {
          earliest = std::min(earliest, thread->until_ns);
        }
      }
      if (thread->state == Thread::State::kReady) candidates.push_back(thread.get());
    }
    if (!candidates.empty()) break;
    if (earliest == UINT64_MAX) return nullptr;
    run->now_ns = earliest;
  }
  Thread* chosen = nullptr;
  if (run->options.priorities) {
    if (next_random() % 64 == 0) {
      candidates[next_random() % candidates.size()]->priority = next_random();
    }
    chosen = *std::max_element(candidates.begin(), candidates.end(),
                               [](auto* a, auto* b) { return a->priority < b->priority; });
  } else {
    chosen = candidates[next_random() % candidates.size()];
  }
  note(chosen->number);
  return chosen;
}

void count_step() {
  run->now_ns += kStepNs;
  if (++run->outcome.steps > run->options.most_steps) {
    run->over = true;
    switch_to(nullptr);
  }
}

/// Somebody goes on: also the one who calls, where it may.
void go_on() {
  count_step();
  Thread* const next = choose();
  if (next == nullptr) run->over = true;
  switch_to(next);
  while (run->tells) {
    std::array<void*, 40> calls{};
    backtrace_symbols_fd(calls.data(), backtrace(calls.data(), 40), STDERR_FILENO);
    switch_to(nullptr);
  }
}

void thread_main() {
  Thread& self = *run->current;
  self.result = self.main(self.argument);
  self.state = Thread::State::kEnded;
  wake(&self, 1);
  for (;;) go_on();
}

void tell_who_waits() {
  run->tells = true;
  for (const auto& thread : run->threads) {
    if (thread->state == Thread::State::kEnded) continue;
    const bool sleeps = thread->state == Thread::State::kSleeps;
    std::fprintf(stderr, "-- %s (%u): %s\n", thread->name.data(), thread->number,
                 sleeps ? thread->what : "goes on");
    std::fflush(stderr);
    switch_to(thread.get());
  }
}

}  // namespace

bool running() { return run != nullptr && run->current != nullptr; }
Thread* this_thread() { return run != nullptr ? run->current : nullptr; }

Thread* start_thread(void* stack, size_t bytes, void* (*main)(void*), void* argument) {
  ++run->started;
  if (run->until_failing > 0 && --run->until_failing == 0) return nullptr;
  auto thread = std::make_unique<Thread>();
  if (stack == nullptr) {
    bytes = kStackBytes;
    stack = thread->own_stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  }
  thread->number = run->started;
  if (run->current != nullptr) thread->name = run->current->name;
  thread->main = main;
  thread->argument = argument;
  thread->priority = next_random();
  const OwnVariables& own = run->variables;
  thread->variables.resize(own.bytes);
  std::copy_n(own.first, own.first_bytes, thread->variables.begin());
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = stack;
  thread->context.uc_stack.ss_size = bytes;
  thread->context.uc_link = nullptr;
  makecontext(&thread->context, thread_main, 0);
  Thread* const made = thread.get();
  run->threads.push_back(std::move(thread));
  run->outcome.threads = std::max(run->outcome.threads, uint32_t(run->threads.size()));
  return made;
}

void* join_thread(Thread* thread) {
  while (thread->state != Thread::State::kEnded) sleep_on(thread, "a thread's end");
  void* const result = thread->result;
  if (thread->own_stack != nullptr) munmap(thread->own_stack, kStackBytes);
  std::erase_if(run->threads, [&](const auto& one) { return one.get() == thread; });
  return result;
}

void detach_thread(Thread* thread) { thread->detached = true; }

void name_thread(Thread* thread, const char* name) {
  std::strncpy(thread->name.data(), name, thread->name.size() - 1);
}

void step() {
  if (!running()) return;
  const uint32_t one_in = run->options.switch_one_in;
  if (one_in == 0 || next_random() % one_in != 0) return count_step();
  go_on();
}

void yield_to_others() {
  if (!running()) return;
  run->current->priority = next_random() >> 1;
  go_on();
}

bool sleep_on(const void* address, const char* what, uint64_t until_ns) {
  Thread& self = *run->current;
  self.sleeps_on = address;
  self.what = what;
  self.until_ns = until_ns;
  self.timed_out = false;
  self.state = Thread::State::kSleeps;
  go_on();
  self.sleeps_on = nullptr;
  return !self.timed_out;
}

int wake(const void* address, int most) {
  if (run == nullptr) return 0;
  int woken = 0;
  const size_t count = run->threads.size();
  const size_t first = count > 0 && most < int(count) ? next_random() % count : 0;
  for (size_t i = 0; i < count && woken < most; ++i) {
    Thread& thread = *run->threads[(first + i) % count];
    if (thread.state != Thread::State::kSleeps || thread.sleeps_on != address) continue;
    thread.state = Thread::State::kReady;
    ++woken;
  }
  return woken;
}

ThreadsOutcome run_as_one(const ThreadOptions& options, const std::function<void()>& program) {
  Run state;
  state.options = options;
  state.random = options.seed;
  dl_iterate_phdr(find_variables, &state.variables);
  run = &state;
  const auto main = [](void* function) -> void* {
    (*static_cast<const std::function<void()>*>(function))();
    return nullptr;
  };
  Thread* const first =
      start_thread(nullptr, 0, main, const_cast<void*>(static_cast<const void*>(&program)));
  name_thread(first, "application");
  switch_to(first);
  // Back when nobody can go on, or too many have.
  state.outcome.ended_ns = state.now_ns - kFirstNs;
  state.outcome.hangs = first->state != Thread::State::kEnded;
  if (state.outcome.hangs) tell_who_waits();
  run = nullptr;
  return state.outcome;
}

uint64_t draw(uint64_t below) { return next_random() % below; }
uint64_t run_ns() { return run->now_ns; }
uint64_t clock_ns() { return run->now_ns += kStepNs / 5; }
void fail_thread(uint32_t number) { run->until_failing = number; }
const char* thread_name() { return run != nullptr ? run->current->name.data() : ""; }

void let_pass(uint64_t ns) {
  if (ns > 0) sleep_on(nullptr, "time", run->now_ns + ns);
}

}  // namespace tutti::simulation
