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
#include "base/spawn_settings.h"

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
  // The application's blocked signals and handlers must not reach the probe's watch-dog.
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(settings.actions(), ends[1], kResultPipe);
  std::vector<std::string> marks;
  if (without_vendors) marks.push_back(std::string(kInsideProbe) + "=1");
  const std::vector<char*> environment = environment_with(marks);
  std::vector<std::string> words{program, subject, std::to_string(seconds)};
  const std::vector<char*> arguments = pointers_to(words);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), settings.actions(), settings.attributes(),
                                arguments.data(), environment.data());
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
    if (signal == SIGALRM) return {{false, "hangs when it is queried", true}, answer};
    // The kernel ends what takes too much memory, and users end what they like.
    const bool from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
                              signal == SIGHUP || signal == SIGXCPU;
    return {
        {false, fmt::format("crashes when it is queried ({})", strsignal(signal)), from_outside},
        answer};
  }
  // Where the application has reaped it, nobody knows what ended it.
  return {{false, "ends the process when it is queried", waited != running.pid}, answer};
}

}  // namespace tutti::platform
