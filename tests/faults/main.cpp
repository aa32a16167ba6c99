// SPDX-License-Identifier: Apache-2.0
// Runs one scenario on the platform that the loader finds, and prints a line:
//   VERDICT HAPPENED | first error | what was wrong first
// VERDICT: right; told (wrong or missing, and an error was told before or with it); late (told, but
// after wrong bytes had been delivered); untold. HAPPENED: how many of the planned faults did.
//
//   tutti-fault-scenarios --list
//   tutti-fault-scenarios [--events] [--counts] [--faulty LIBRARY] SCENARIO
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "faulty_control.h"
#include "world.h"

namespace {

/// A function of the faulty vendor's library, where that is in use.
template <typename Function>
Function* in_library(void* library, const char* name) {
  return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

/// A function of a library that is preloaded (failing_library.cpp).
template <typename Function>
Function* preloaded(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tutti::faults;
  bool events = false, counts = false;
  std::string name, faulty;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      for (const Scenario& scenario : scenarios()) std::printf("%s\n", scenario.name);
      return 0;
    }
    if (word == "--events") {
      events = true;
    } else if (word == "--counts") {
      counts = true;
    } else if (word == "--faulty" && i + 1 < argc) {
      faulty = argv[++i];
    } else {
      name = word;
    }
  }
  const Scenario* chosen = nullptr;
  for (const Scenario& scenario : scenarios()) {
    if (name == scenario.name) chosen = &scenario;
  }
  static constexpr Scenario kComesBack{"comes-back", &comes_back};
  if (name == kComesBack.name) chosen = &kComesBack;
  if (chosen == nullptr) {
    std::fprintf(stderr, "no scenario '%s'\n", name.c_str());
    return 2;
  }
  void* library = faulty.empty() ? nullptr : dlopen(faulty.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!faulty.empty() && library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  std::string verdict = "told", error, wrong;
  try {
    World world(events);
    world.launches_after_loss =
        in_library<decltype(faulty_launches_after_loss)>(library, "faulty_launches_after_loss");
    if (auto* end =
            in_library<decltype(faulty_end_preparation)>(library, "faulty_end_preparation")) {
      end();
    }
    try {
      // Devices build programs when these are first used; the second time, all of them have.
      chosen->run(world);
      chosen->run(world);
      verdict = world.verdict();
    } catch (const CannotGoOn& reason) {
      world.call(reason.what(), CL_INVALID_OPERATION);
      verdict = world.verdict();
      if (verdict == "right") verdict = "told";  // it could not end
    }
    error = world.first_error();
    wrong = world.first_wrong();
  } catch (const CannotGoOn& reason) {
    error = reason.what();
    wrong = "preparation";
  }
  auto* happened = in_library<decltype(faulty_happened)>(library, "faulty_happened");
  auto* failed = preloaded<int()>("failing_happened");
  std::printf("%s %d | %s | %s\n", verdict.c_str(),
              (happened != nullptr ? happened() : 0) + (failed != nullptr ? failed() : 0),
              error.c_str(), wrong.c_str());
  if (auto* ask = in_library<decltype(faulty_counts)>(library, "faulty_counts"); ask && counts) {
    std::vector<char> text(1 << 16);
    ask(text.data(), text.size());
    std::printf("%s", text.data());
  }
  if (auto* tell = preloaded<void()>("failing_counts"); tell && counts) tell();
  std::fflush(stdout);
  return 0;
}
