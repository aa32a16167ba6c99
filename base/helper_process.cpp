// SPDX-License-Identifier: Apache-2.0
#include "base/helper_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/spawn_settings.h"
#include "base/thread_signals.h"

// glibc's other name of clone(): ThreadSanitizer takes what clone() starts for a copy of the
// process, and would note that in the memory that both share.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument,  // NOLINT
                       ...) noexcept;

namespace tutti {
namespace {

struct Spawning {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const posix_spawn_file_actions_t* actions = nullptr;
  const posix_spawnattr_t* attributes = nullptr;
  int error = 0;
};

/// In a process between the application and the helper, which then is nobody's child. It shares the
/// caller's memory, as between vfork and exec, and ends without a signal.
int spawn_from_between(void* argument) {
  auto& spawning = *static_cast<Spawning*>(argument);
  pid_t pid = -1;
  spawning.error = posix_spawn(&pid, spawning.program, spawning.actions, spawning.attributes,
                               spawning.arguments, spawning.environment);
  return 0;
}

/// An errno, or 0.
int spawn_as_nobodys_child(Spawning& spawning) {
  constexpr size_t kStackBytes = size_t{256} << 10;
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return errno;
  int error = 0;
  {
    // No handler of the application's may run in the process between.
    sigset_t all;
    sigfillset(&all);
    const SignalMask blocked(all);
    const int pid = __clone(&spawn_from_between, static_cast<char*>(stack) + kStackBytes,
                            CLONE_VM | CLONE_VFORK, &spawning);
    if (pid < 0) {
      error = errno;
    } else {
      while (waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) {
      }
    }
  }
  munmap(stack, kStackBytes);
  return error != 0 ? error : spawning.error;
}

/// An errno, or 0. `files`: the socket and those behind it.
int start_program(const std::string& program, std::vector<std::string> arguments,
                  std::vector<std::string> environment, std::span<const int> files) {
  // A session of its own: what a terminal sends the application is not for it.
  SpawnSettings settings(POSIX_SPAWN_SETSID);
  // None of them may have a number that another one is to get.
  const int behind = kHelperSocket + static_cast<int>(files.size());
  std::vector<Descriptor> apart;
  for (const int file : files) {
    Descriptor& copy = apart.emplace_back(fcntl(file, F_DUPFD_CLOEXEC, behind));
    if (!copy) return errno;
    posix_spawn_file_actions_adddup2(settings.actions(), copy.get(),
                                     behind - static_cast<int>(files.size() - apart.size()) - 1);
  }
  // Somebody may wait for the end of a pipe of the application's.
  posix_spawn_file_actions_addclosefrom_np(settings.actions(), behind);
  const std::vector<char*> variables = environment_with(environment);
  arguments.insert(arguments.begin(), program);
  const std::vector<char*> words = pointers_to(arguments);
  Spawning spawning{program.c_str(),    words.data(),          variables.data(),
                    settings.actions(), settings.attributes(), 0};
  return spawn_as_nobodys_child(spawning);
}

}  // namespace

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(const std::string& program,
                                                            std::vector<std::string> arguments,
                                                            const HelperBudget& budget,
                                                            std::vector<std::string> environment,
                                                            std::span<const int> files) {
  TUTTI_ASSIGN(auto helper,
               launch(program, std::move(arguments), budget, std::move(environment), files));
  helper->await_greeting();
  return helper;
}

Result<std::unique_ptr<HelperProcess>> HelperProcess::launch(const std::string& program,
                                                             std::vector<std::string> arguments,
                                                             const HelperBudget& budget,
                                                             std::vector<std::string> environment,
                                                             std::span<const int> files) {
  const auto failed = [&program](int error) {
    return fail(CL_OUT_OF_RESOURCES, fmt::format("{}: {}", program, strerror(error)));
  };
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed(errno);
  Descriptor ours(ends[0]), theirs(ends[1]);
  arguments.insert(arguments.begin(), {std::to_string(budget.seconds), std::to_string(budget.mib)});
  std::vector<int> given{theirs.get()};
  given.insert(given.end(), files.begin(), files.end());
  const int error = start_program(program, std::move(arguments), std::move(environment), given);
  theirs = Descriptor();
  if (error != 0) return failed(error);
  return std::unique_ptr<HelperProcess>(new HelperProcess(std::move(ours), budget));
}

HelperMessage HelperProcess::ask(std::string_view request, uint64_t most_ns) {
  if (!send_helper_message(socket_.get(), HelperMessageKind::kRequest, request)) {
    return {HelperMessageKind::kGone, "has ended"};
  }
  return answer_to(now_ns(), most_ns != 0 ? most_ns : budget_.clock_ns());
}

HelperMessage HelperProcess::answer_to(uint64_t asked_ns, uint64_t most_ns) const {
  const uint64_t deadline = most_ns == 0 ? UINT64_MAX : asked_ns + most_ns;
  if (auto message = receive_helper_message(socket_.get(), deadline)) return std::move(*message);
  if (now_ns() >= deadline) {
    return {HelperMessageKind::kTransient,
            fmt::format("has not ended after {} seconds", most_ns / 1'000'000'000)};
  }
  return {HelperMessageKind::kGone, "has ended"};
}

void HelperProcess::end() { shutdown(socket_.get(), SHUT_WR); }

std::optional<HelperMessage> HelperProcess::await_end(uint64_t deadline_ns) {
  while (auto message = receive_helper_message(socket_.get(), deadline_ns)) {
    if (message->kind != HelperMessageKind::kAnswer) return message;  // else a late answer
  }
  if (now_ns() >= deadline_ns) return std::nullopt;
  return HelperMessage{HelperMessageKind::kGone, "has ended"};
}

bool HelperProcess::alive() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return poll(&entry, 1, 0) == 0;
}

}  // namespace tutti
