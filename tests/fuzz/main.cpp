// SPDX-License-Identifier: Apache-2.0
// tutti-api-fuzz: random and hostile sequences of OpenCL calls. Fails when the driver answers a
// clear case wrongly, keeps an object alive, crashes or hangs (the test's time-out tells).
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/progress_line.h"
#include "steps.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace tutti::api_fuzz {
namespace {

struct Arguments {
  std::string platform = "Tutti";
  uint64_t seed = std::random_device()();
  uint64_t steps = 2000;
  uint64_t threads = 1;
  bool trace = false;
};

constexpr const char* kHelp =
    "usage: tutti-api-fuzz [--platform NAME] [--seed N] [--steps N] [--threads N] [--trace]\n";

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc;
    const auto number = [&] { return std::strtoull(argv[++i], nullptr, 0); };
    if (name == "--trace") {
      arguments.trace = true;
    } else if (name == "--platform" && has_value) {
      arguments.platform = argv[++i];
    } else if (name == "--seed" && has_value) {
      arguments.seed = number();
    } else if (name == "--steps" && has_value) {
      arguments.steps = number();
    } else if (name == "--threads" && has_value) {
      arguments.threads = std::max<uint64_t>(number(), 1);
    } else {
      std::fputs(kHelp, stderr);
      return false;
    }
  }
  return true;
}

cl_platform_id find_platform(const std::string& wanted) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr);
    if (wanted == name) return platform;
  }
  return nullptr;
}

thread_local World* current = nullptr;

// Says where it was; then the signal does what it does without us.
void report_crash(int signal) {
  char text[200];
  const World* world = current;
  const int length =
      std::snprintf(text, sizeof text, "tutti-api-fuzz: signal %d, seed %llu, step %llu (%s)\n",
                    signal, world ? static_cast<unsigned long long>(world->seed()) : 0,
                    world ? static_cast<unsigned long long>(world->step_number()) : 0,
                    world ? world->step_name() : "in a thread of the driver");
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

World* keep_world(std::unique_ptr<World> world) {
  static std::mutex mutex;
  static auto* const worlds = new std::vector<std::unique_ptr<World>>;
  const std::lock_guard lock(mutex);
  return worlds->emplace_back(std::move(world)).get();
}

void run(const Arguments& arguments, uint64_t seed, cl_platform_id platform, cl_device_id device,
         Tally& tally) {
  // Never destroyed: a read without an event, of a queue that was released, may come later still.
  World& world =
      *keep_world(std::make_unique<World>(seed, platform, device, arguments.threads == 1, tally));
  current = &world;
  const Steps steps = all_steps();
  uint64_t total = 0;
  for (const Step& step : steps) total += step.weight;
  ProgressLine progress;
  const bool shows = seed == arguments.seed && !arguments.trace;  // one thread does
  for (uint64_t i = 0; i < arguments.steps && tally.failures < 20; ++i) {
    uint64_t chosen = world.random.below(total);
    const auto* step = steps.data();
    while (chosen >= step->weight) chosen -= (step++)->weight;
    world.step(step->name);
    if (shows) progress.count("steps", i, arguments.steps);
    if (arguments.trace) {
      std::fprintf(stderr, "%llu: %s\n", static_cast<unsigned long long>(i + 1), step->name);
    }
    step->run(world);
  }
  progress.end();
  world.close();
  current = nullptr;
}

/// The driver lets go of things, and calls back, on its own threads: soon, but not at once. A limit
/// turns what never comes into a failure.
bool wait_for_the_driver(const Tally& tally) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (tally.destructors_called != tally.destructors_set ||
         tally.callbacks_called != tally.callbacks_set) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

int fuzz(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  cl_platform_id platform = find_platform(arguments.platform);
  cl_device_id device = nullptr;
  if (platform == nullptr ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    std::fprintf(stderr, "no device of a platform '%s'\n", arguments.platform.c_str());
    return 2;
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, report_crash);
#else
  static_cast<void>(report_crash);
#endif
  std::fprintf(stderr, "tutti-api-fuzz --seed %llu --steps %llu --threads %llu\n",
               static_cast<unsigned long long>(arguments.seed),
               static_cast<unsigned long long>(arguments.steps),
               static_cast<unsigned long long>(arguments.threads));
  Tally tally;
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i < arguments.threads; ++i) {
    threads.emplace_back([&, i] { run(arguments, arguments.seed + i, platform, device, tally); });
  }
  run(arguments, arguments.seed, platform, device, tally);
  for (std::thread& thread : threads) thread.join();
  if (!wait_for_the_driver(tally)) {
    std::fprintf(stderr, "FAILED: destructors %llu of %llu, callbacks %llu of %llu\n",
                 static_cast<unsigned long long>(tally.destructors_called),
                 static_cast<unsigned long long>(tally.destructors_set),
                 static_cast<unsigned long long>(tally.callbacks_called),
                 static_cast<unsigned long long>(tally.callbacks_set));
    ++tally.failures;
  }
  std::fprintf(stderr, "%llu calls succeeded, %llu were refused, %llu failures\n",
               static_cast<unsigned long long>(tally.successes),
               static_cast<unsigned long long>(tally.refusals),
               static_cast<unsigned long long>(tally.failures));
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::api_fuzz

int main(int argc, char** argv) { return tutti::api_fuzz::fuzz(argc, argv); }
