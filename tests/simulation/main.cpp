// SPDX-License-Identifier: Apache-2.0
// tutti-simulation: runs of the engine, each made by its seed alone (README.md). Each is a process
// of its own, whose memory begins the same: what hangs or crashes ends there, and nothing depends
// on the runs before it.
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/progress_line.h"
#include "threads.h"
#include "world.h"

namespace tutti::simulation {
namespace {

constexpr const char* kHelp =
    "usage: tutti-simulation [--seed N] [--runs N] [--jobs N] [--twice] [--log]\n"
    "  --seed N   of the first run (1)\n"
    "  --runs N   so many runs, with seeds one after the other (1)\n"
    "  --jobs N   so many at a time (1)\n"
    "  --twice    each run twice: both must make the same choices\n"
    "  --log      says what each run does\n";

struct Arguments {
  uint64_t seed = 1, runs = 1, jobs = 1;
  bool twice = false, log = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc;
    if (name == "--twice") {
      arguments.twice = true;
    } else if (name == "--log") {
      arguments.log = true;
    } else if (has_value && name == "--seed") {
      arguments.seed = std::strtoull(argv[++i], nullptr, 0);
    } else if (has_value && name == "--runs") {
      arguments.runs = std::strtoull(argv[++i], nullptr, 0);
    } else if (has_value && name == "--jobs") {
      arguments.jobs = std::max<uint64_t>(std::strtoull(argv[++i], nullptr, 0), 1);
    } else {
      std::fputs(kHelp, stderr);
      return false;
    }
  }
  return true;
}

enum class Verdict : uint8_t { kCrash, kRight, kTold, kWrong, kHang };
constexpr const char* kVerdicts[] = {"CRASH", "right", "told", "WRONG", "HANG"};

/// What a run's process leaves to the one that has started it.
struct Report {
  Verdict verdict = Verdict::kCrash;
  bool faulty = false;
  uint64_t steps = 0, digest = 0;
  char world[450] = {}, text[400] = {};
};

template <size_t kSize>
void put(char (&to)[kSize], const std::string& text) {
  std::snprintf(to, kSize, "%s", text.c_str());
}

void run_seed(uint64_t seed, Report& report) {
  ThreadOptions options;
  options.seed = seed;
  options.switch_one_in = uint32_t{1} << (seed * 2654435761u >> 8) % 8;
  options.priorities = (seed * 2654435761u >> 16) % 4 == 0;
  World* world = nullptr;
  const ThreadsOutcome outcome = run_as_one(options, [&] {
    world = new World;  // never destroyed: devices that hang may still use it
    world->thread_fails = draw(16) == 0;
    fail_thread(world->thread_fails ? static_cast<uint32_t>(1 + draw(24)) : 0);
    say("%s", world->text().c_str());
    put(report.world, world->text());
    if (world->buffers.size() < kBuffers) return;
    if (world->programs == 1) {
      run_program(*world, 0, kBufferBytes);
    } else {
      std::thread other;
      bool started = true;
      try {
        other = std::thread([&] { run_program(*world, kBufferBytes / 2, kBufferBytes); });
      } catch (const std::system_error&) {
        started = false;
      }
      run_program(*world, 0, kBufferBytes / 2);
      if (started) other.join();
    }
    let_pass(10'000'000'000);  // for callbacks
    world->buffers.clear();
    if (!world->some_hang()) {
      say("the engine is destroyed");
      world->engine.reset();
      world->set.reset();
    }
  });
  report.steps = outcome.steps;
  report.digest = outcome.digest;
  report.faulty = world->faults.any_failed();
  put(report.world, world->text());
  if (!outcome.hangs && world->callbacks_called != world->callbacks_set) {
    world->wrong("%u of %u callbacks were called", world->callbacks_called, world->callbacks_set);
  }
  const std::string& wrong = world->first_wrong;
  if (outcome.hangs) {
    report.verdict = Verdict::kHang;
  } else if (!wrong.empty()) {
    report.verdict = Verdict::kWrong;
  } else {
    report.verdict = world->errors > 0 ? Verdict::kTold : Verdict::kRight;
  }
  put(report.text, wrong.empty() ? world->first_told : wrong);
}

/// In a process of its own.
void run_apart(uint64_t seed, Report& report, bool quiet) {
  report = {};
  const pid_t child = fork();
  if (child == 0) {
    // What it allocates is the same whether anybody looks at it or not.
    if (freopen(quiet ? "/dev/null" : "/proc/self/fd/2", "a", stderr) == nullptr) _exit(1);
    run_seed(seed, report);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    report.verdict = Verdict::kCrash;
    put(report.text, strsignal(WTERMSIG(status)));
  }
}

struct Tally {
  uint64_t of[std::size(kVerdicts)] = {};
  uint64_t faulty = 0, faulty_right = 0, differing = 0, steps = 0;
};

void run_all(const Arguments& arguments, uint64_t job, Report* report, Tally& tally) {
  ProgressLine progress;
  for (uint64_t i = job; i < arguments.runs; i += arguments.jobs) {
    const uint64_t seed = arguments.seed + i;
    run_apart(seed, *report, !arguments.log);
    const Report first = *report;
    ++tally.of[static_cast<size_t>(first.verdict)];
    tally.faulty += first.faulty;
    tally.faulty_right += first.faulty && first.verdict == Verdict::kRight;
    tally.steps += first.steps;
    const bool bad = first.verdict != Verdict::kRight && first.verdict != Verdict::kTold;
    if (bad || arguments.runs == 1) {
      std::printf("seed %llu: %s: %s\n    %s\n", static_cast<unsigned long long>(seed),
                  kVerdicts[static_cast<size_t>(first.verdict)], first.text, first.world);
      std::fflush(stdout);
    }
    if (arguments.twice) {
      run_apart(seed, *report, true);
      if (report->digest != first.digest || report->verdict != first.verdict) {
        ++tally.differing;
        std::printf("seed %llu: two runs differ\n", static_cast<unsigned long long>(seed));
      }
    }
    if (job == 0) progress.count("runs", i, arguments.runs);
  }
}

int simulate(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  // Everything lies where it lay in the run before, also what is ordered by its address.
  const int personality = ::personality(0xFFFFFFFF);
  if (personality != -1 && (personality & ADDR_NO_RANDOMIZE) == 0 &&
      ::personality(static_cast<unsigned long>(personality | ADDR_NO_RANDOMIZE)) != -1) {
    execv("/proc/self/exe", argv);
  }
  logs = arguments.log;
  start_log(LogLevel::kInfo);  // to nowhere, mostly: what it does belongs to the run
  const size_t bytes = arguments.jobs * (sizeof(Report) + sizeof(Tally));
  void* const shared =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto* const tallies = static_cast<Tally*>(shared);
  auto* const reports = reinterpret_cast<Report*>(tallies + arguments.jobs);
  for (uint64_t job = 1; job < arguments.jobs; ++job) {
    if (fork() != 0) continue;
    run_all(arguments, job, reports + job, tallies[job]);
    _exit(0);
  }
  run_all(arguments, 0, reports, tallies[0]);
  while (wait(nullptr) > 0) {
  }
  Tally all;
  for (uint64_t job = 0; job < arguments.jobs; ++job) {
    for (size_t i = 0; i < std::size(kVerdicts); ++i) all.of[i] += tallies[job].of[i];
    all.faulty += tallies[job].faulty;
    all.faulty_right += tallies[job].faulty_right;
    all.differing += tallies[job].differing;
    all.steps += tallies[job].steps;
  }
  const auto n = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu runs:", n(arguments.runs));
  for (const Verdict verdict :
       {Verdict::kRight, Verdict::kTold, Verdict::kWrong, Verdict::kHang, Verdict::kCrash}) {
    const auto index = static_cast<size_t>(verdict);
    std::printf(" %llu %s%s", n(all.of[index]), kVerdicts[index],
                verdict == Verdict::kCrash ? "" : ",");
  }
  std::printf("; of %llu with faults %llu right; %llu steps\n", n(all.faulty), n(all.faulty_right),
              n(all.steps));
  const uint64_t good =
      all.of[static_cast<size_t>(Verdict::kRight)] + all.of[static_cast<size_t>(Verdict::kTold)];
  return good == arguments.runs && all.differing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::simulation

int main(int argc, char** argv) { return tutti::simulation::simulate(argc, argv); }
