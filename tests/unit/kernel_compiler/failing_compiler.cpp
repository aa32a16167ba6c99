// SPDX-License-Identifier: Apache-2.0
// A kernel compiler that fails: in front of the real one, it does what a word in the program's
// source says. "analysis_…" happens unless the analysis is to be left out, "front_end_…" always.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include "kernel_compiler/compiler_api.h"

namespace {

const TuttiCompilerApi* real_compiler() {
  static const auto* const api = [] {
    void* const library = dlopen(TUTTI_TEST_COMPILER, RTLD_NOW | RTLD_LOCAL);
    const auto entry = reinterpret_cast<const TuttiCompilerApi* (*)()>(
        library != nullptr ? dlsym(library, TUTTI_COMPILER_ENTRY) : nullptr);
    return entry != nullptr ? entry() : nullptr;
  }();
  return api;
}

TuttiCompilerResult compile(const char* text, size_t size) {
  const std::string_view request(text, size);
  const bool analyses = request.find("\"not_analysed\":\"\"") != std::string_view::npos;
  const auto does = [&](std::string_view word) {
    return request.find(word) != std::string_view::npos;
  };
  if (does("front_end_crashes") || (analyses && does("analysis_crashes"))) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the process otherwise
    raise(SIGSEGV);
  }
  if (analyses && does("analysis_aborts")) {
    signal(SIGABRT, SIG_DFL);
    std::abort();
  }
  if (analyses && does("analysis_exits")) _exit(3);
  if (analyses && does("analysis_never_ends")) {
    volatile bool for_ever = true;
    while (for_ever) {
    }
  }
  if (analyses && does("analysis_waits")) {
    for (;;) pause();  // for signals that nobody sends
  }
  if (analyses && does("analysis_grows")) {
    std::vector<void*> all;
    for (;;) all.push_back(::operator new (size_t{64} << 20));
  }
  return real_compiler()->compile(text, size);
}

void release(TuttiCompilerResult result) { real_compiler()->release(result); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const TuttiCompilerApi*
tutti_kernel_compiler_v1() {
  static constexpr TuttiCompilerApi kApi = {1, compile, release};
  return real_compiler() != nullptr ? &kApi : nullptr;
}
