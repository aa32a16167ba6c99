// SPDX-License-Identifier: Apache-2.0
#include "tool_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/printable.h"

namespace tutti::damage {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// It only turns a hang into a failure.
constexpr unsigned kMostSeconds = kSanitized ? 240 : 60;
constexpr rlim_t kMostBytes = rlim_t{6} << 30;  // a vendor's compiler takes some, too

[[noreturn]] void become(const std::vector<std::string>& words, const Variables& variables,
                         const std::string& input, int output) {
  const int source = open(input.empty() ? "/dev/null" : input.c_str(), O_RDONLY);
  dup2(source, 0);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  // A sanitizer reserves terabytes, and has a limit of its own.
  const rlimit memory{kMostBytes, kMostBytes}, none{0, 0};
  if (!kSanitized) setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
  const char* const given = getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS",
         fmt::format("{}:detect_leaks=0:abort_on_error=1:hard_rss_limit_mb=4096",
                     given != nullptr ? given : "")
             .c_str(),
         1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  alarm(kMostSeconds);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Ended run(const std::vector<std::string>& words, const Variables& variables,
          const std::string& input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  const pid_t child = fork();
  if (child == 0) become(words, variables, input, ends[1]);
  close(ends[1]);
  Ended ended;
  char block[1 << 16];
  for (ssize_t got = 0; (got = read(ends[0], block, sizeof block)) > 0;) {
    ended.output.append(block, static_cast<size_t>(got));
  }
  close(ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

std::string terminal_problem(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8_bytes(text, at);
    const bool kept = text[at] == '\n' || text[at] == '\t';
    if (bytes == 0 || (!kept && hidden_bytes(text, at, bytes) > 0)) {
      return fmt::format("the byte {:#04x} at {}, which a terminal may obey",
                         static_cast<unsigned>(static_cast<unsigned char>(text[at])), at);
    }
    at += bytes;
  }
  return {};
}

std::string problem_of(const Ended& ended) {
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    return signal == SIGALRM ? "it hangs"
                             : fmt::format("signal {} ({})", signal, strsignal(signal));
  }
  for (const char* word : {"AddressSanitizer", "ThreadSanitizer",
                           "runtime error:", "was ended by signal", "terminate called"}) {
    if (ended.output.find(word) != std::string::npos) return word;
  }
  const int code = WEXITSTATUS(ended.status);
  if (code > 4) return fmt::format("exit code {}", code);
  if (code != 0 && ended.output.empty()) return fmt::format("exit code {} without a word", code);
  return terminal_problem(ended.output);
}

}  // namespace tutti::damage
