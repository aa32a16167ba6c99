// SPDX-License-Identifier: Apache-2.0
#include "base/helper_service.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "base/safe_file.h"
#include "base/thread_annotations.h"

// A sanitizer takes terabytes of address space for itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_BOUNDS_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUTTI_BOUNDS_MEMORY false
#endif
#endif
#ifndef TUTTI_BOUNDS_MEMORY
#define TUTTI_BOUNDS_MEMORY true
#endif

namespace tutti {
namespace {

constexpr int kIdleMilliseconds = 5000;

constexpr rlim_t bytes_of(uint32_t mib) { return rlim_t{mib} << 20; }

/// Whether the application's own bound (ulimit -v) is tighter than ours: another process may fare
/// better.
bool short_of_memory(const HelperBudget& budget) {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         (budget.mib == 0 || limit.rlim_cur < bytes_of(budget.mib));
}

void bound_memory(const HelperBudget& budget) {
  if (budget.mib == 0 || !TUTTI_BOUNDS_MEMORY || short_of_memory(budget)) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = bytes_of(budget.mib);
  setrlimit(RLIMIT_AS, &limit);
}

/// From now on.
void bound_time(uint32_t seconds) {
  rlimit limit{};
  rusage used{};
  if (seconds == 0 || getrlimit(RLIMIT_CPU, &limit) != 0 || getrusage(RUSAGE_SELF, &used) != 0) {
    return;
  }
  const auto so_far = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  limit.rlim_cur = std::min(so_far + 1 + seconds, limit.rlim_max);
  setrlimit(RLIMIT_CPU, &limit);
}

// Held while the process that works says something, and from its last word on.
Mutex speaking;

bool say(const HelperMessage& message) {
  const MutexLock lock(speaking);
  return send_helper_message(kHelperSocket, message.kind, message.text);
}

HelperMessage guarded(const std::function<HelperMessage()>& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return {HelperMessageKind::kTransient, "ran out of memory"};
  } catch (const std::exception& error) {
    return {HelperMessageKind::kFailed, error.what()};
  }
}

[[noreturn]] void work(const HelperBudget& budget, const std::function<HelperStart()>& start) {
  bound_memory(budget);
  bound_time(budget.seconds);
  HelperStart started;
  const HelperMessage greeting = guarded([&] {
    started = start();
    return started.greeting;
  });
  if (!say(greeting)) _exit(0);
  while (started.answer) {
    pollfd entry{kHelperSocket, POLLIN, 0};
    const int ready = poll(&entry, 1, started.stays ? -1 : kIdleMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const auto request = receive_helper_message(kHelperSocket, UINT64_MAX);
    if (!request) break;
    bound_time(budget.seconds);
    if (!say(guarded([&] { return started.answer(request->text); }))) break;
  }
  // Nobody waits for destructors.
  _exit(0);
}

/// Becomes readable at the end of the process that has made the socket's other end; none where the
/// system knows no such files.
Descriptor drivers_life() {
  ucred driver{};
  socklen_t size = sizeof driver;
  if (getsockopt(kHelperSocket, SOL_SOCKET, SO_PEERCRED, &driver, &size) != 0) return {};
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, driver.pid, 0)));
}

HelperMessage how_it_ended(int status, const HelperBudget& budget) {
  if (!WIFSIGNALED(status)) return {HelperMessageKind::kFailed, "ended its process"};
  const int signal = WTERMSIG(status);
  switch (signal) {
    case SIGXCPU:
      return {HelperMessageKind::kFailed, fmt::format("took more than {} seconds", budget.seconds)};
    case SIGKILL:  // the system had too little memory
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return {HelperMessageKind::kTransient, fmt::format("was ended ({})", strsignal(signal))};
    default:
      return {short_of_memory(budget) ? HelperMessageKind::kTransient : HelperMessageKind::kFailed,
              fmt::format("crashed ({})", strsignal(signal))};
  }
}

}  // namespace

void end_service(const std::string& why) {
  const MutexLock lock(speaking);
  send_helper_message(kHelperSocket, HelperMessageKind::kTransient, why);
  _exit(0);
}

void serve_driver(const HelperBudget& budget, const std::function<HelperStart()>& start) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);
  fcntl(kHelperSocket, F_SETFD, FD_CLOEXEC);
  // Its other end is closed with the process that works.
  int life[2];
  if (pipe2(life, O_CLOEXEC) != 0) _exit(1);
  const pid_t monitor = getpid();
  const pid_t worker = fork();
  if (worker < 0) _exit(1);
  if (worker == 0) {
    close(life[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != monitor) _exit(1);
    work(budget, start);
  }
  close(life[1]);
  const Descriptor driver = drivers_life();
  for (;;) {
    pollfd entries[3] = {
        {kHelperSocket, POLLRDHUP, 0}, {life[0], POLLIN, 0}, {driver.get(), POLLIN, 0}};
    if (poll(entries, 3, -1) < 0) continue;
    if (entries[1].revents != 0) break;
    if (entries[0].revents != 0 || entries[2].revents != 0) {
      kill(worker, SIGKILL);
      break;  // its end is waited for below
    }
  }
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const HelperMessage end = how_it_ended(status, budget);
    send_helper_message(kHelperSocket, end.kind, end.text);
  }
  _exit(0);
}

}  // namespace tutti
