// SPDX-License-Identifier: Apache-2.0
#include "platform/probe_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/own_files.h"

extern char** environ;  // NOLINT: POSIX leaves its declaration to the program

namespace tutti::platform {
namespace {

constexpr int kResultPipe = 3;  // as tools/probe/main.cpp has it
constexpr std::string_view kSafe = "safe\n";

}  // namespace

RunningProbe start_probe(const std::string& program, const std::string& subject, int seconds,
                         bool without_vendors) {
  RunningProbe running;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return running;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kResultPipe);
  // The application's blocked signals and handlers must not reach the probe's watch-dog.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string mark = std::string(kInsideProbe) + "=1";
  std::vector<char*> environment;
  for (char** entry = environ; entry && *entry; ++entry) environment.push_back(*entry);
  if (without_vendors) environment.push_back(mark.data());
  environment.push_back(nullptr);
  std::string name = program, argument = subject, limit = std::to_string(seconds);
  std::array<char*, 4> arguments{name.data(), argument.data(), limit.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    log(LogLevel::kDebug, "{}: {}", program, strerror(error));
    close(ends[0]);
    return running;
  }
  running.pid = pid;
  running.pipe = ends[0];
  return running;
}

ProbeOutcome finish_probe(const RunningProbe& running) {
  std::string answer;
  std::array<char, 256> block{};
  for (;;) {
    const ssize_t count = read(running.pipe, block.data(), block.size());
    if (count > 0) {
      answer.append(block.data(), static_cast<size_t>(count));
      // The verdict is in; a driver that hangs or crashes when it is unloaded is not waited for.
      if (answer.ends_with(kSafe)) break;
    } else if (count == 0 || errno != EINTR) {
      break;
    }
  }
  close(running.pipe);
  int status = 0;
  pid_t waited = -1;
  do {
    waited = waitpid(running.pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (answer.ends_with(kSafe)) {
    answer.resize(answer.size() - kSafe.size());
    return {{true, {}}, answer};
  }
  if (waited == running.pid && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return {{false, "hangs when it is queried"}, answer};
    return {{false, fmt::format("crashes when it is queried ({})", strsignal(signal))}, answer};
  }
  return {{false, "ends the process when it is queried"}, answer};
}

}  // namespace tutti::platform
