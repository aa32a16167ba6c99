// SPDX-License-Identifier: Apache-2.0
// Signals that the application awaits, handles or dies by.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "ways.h"
#include "work.h"

namespace tutti::endings {
namespace {

volatile sig_atomic_t handled = 0;

/// Without SA_RESTART: calls are interrupted.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  require(sigaction(signal, &action, nullptr) == 0, "sigaction");
}

void tick_each_millisecond(int timer) {
  const itimerval each{{0, 1000}, {0, 1000}};
  require(setitimer(static_cast<__itimer_which_t>(timer), &each, nullptr) == 0, "setitimer");
}

void ring_in(int milliseconds) {
  const itimerval once{{0, 0}, {0, milliseconds * 1000}};
  require(setitimer(ITIMER_REAL, &once, nullptr) == 0, "setitimer");
}

/// Of SIGALRM: exits, or rings again where exit() could not end.
void exit_when_it_can(int /*signal*/) {
  if (allocator_is_interrupted()) {
    ring_in(1);
  } else {
    std::exit(7);
  }
}

/// Sends the main thread a signal when it sleeps in the call that it is about to make.
void interrupt_main(int signal) {
  static const pthread_t main = pthread_self();
  std::thread([signal] {
    wait_until_asleep(getpid());
    pthread_kill(main, signal);
  }).detach();
}

int handler_exits() {
  the_work = make_work();
  launch(the_work);
  handle(SIGINT, [](int) { std::exit(7); });
  raise(SIGINT);
  return 0;
}

int handler_exits_in_finish() {
  the_work = make_work();
  launch(the_work, gate(the_work));
  handle(SIGINT, [](int) { std::exit(7); });
  interrupt_main(SIGINT);
  clFinish(the_work.queue);
  return 0;
}

// Wherever it happens to be, again and again, so that it is in the middle of something now and
// then.
int handler_exits_in_launches() {
  the_work = make_work();
  handle(SIGALRM, exit_when_it_can);
  ring_in(20);
  for (;;) {
    launch(the_work);
    clFinish(the_work.queue);
  }
}

int handler_exits_in_build() {
  the_work = make_work();
  handle(SIGALRM, exit_when_it_can);
  ring_in(5);
  for (;;) build_something_new(the_work);
}

int handler_finishes() {
  the_work = make_work();
  launch(the_work);
  handle(SIGINT, [](int) {
    clFinish(the_work.queue);
    handled = 1;
  });
  raise(SIGINT);
  require(handled == 1, "the handler has run");
  check(the_work);
  return 0;
}

int interrupted_wait_goes_on() {
  the_work = make_work();
  static const cl_event held = gate(the_work);
  launch(the_work, held);
  static const pthread_t main = pthread_self();
  handle(SIGINT, [](int) { handled = 1; });
  std::thread([] {
    wait_until_asleep(getpid());
    pthread_kill(main, SIGINT);
    while (handled == 0) std::this_thread::yield();
    wait_until_asleep(getpid());
    clSetUserEventStatus(held, CL_COMPLETE);
  }).detach();
  require(clFinish(the_work.queue), "clFinish");
  require(handled == 1, "it was interrupted");
  check(the_work);
  return 0;
}

int everything_interrupted() {
  handle(SIGALRM, [](int) { handled = 1; });
  handle(SIGPROF, [](int) { handled = 1; });
  tick_each_millisecond(ITIMER_REAL);
  tick_each_millisecond(ITIMER_PROF);
  the_work = make_work();
  for (int i = 0; i < 100; ++i) launch(the_work);
  check(the_work);
  build_something_new(the_work);
  while (handled == 0) {
  }
  return 0;
}

/// Sent to the process, not to a thread.
void send_term() { require(kill(getpid(), SIGTERM) == 0, "kill"); }

sigset_t block_term() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  require(pthread_sigmask(SIG_BLOCK, &term, nullptr) == 0, "pthread_sigmask");
  return term;
}

int awaited() {
  const sigset_t term = block_term();
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  send_term();
  int signal = 0;
  require(sigwait(&term, &signal) == 0 && signal == SIGTERM, "SIGTERM comes to who awaits it");
  check(the_work);
  return 0;
}

int read_from_file() {
  const sigset_t term = block_term();
  const int file = signalfd(-1, &term, SFD_CLOEXEC);
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  send_term();
  signalfd_siginfo info{};
  require(read(file, &info, sizeof info) == sizeof info && info.ssi_signo == SIGTERM,
          "SIGTERM comes to who reads it");
  check(the_work);
  return 0;
}

// A thread that awaits it, while another one's work goes on when that has ended.
int awaited_by_another() {
  const sigset_t term = block_term();
  std::thread([] {
    the_work = make_work();
    for (int i = 0; i < 20; ++i) launch(the_work);
    static std::atomic<bool> called{false};
    cl_event event = nullptr;
    launch(the_work, nullptr, &event);
    call_back(event, [](cl_event, cl_int, void*) { called = true; });
    clFlush(the_work.queue);
  }).join();
  send_term();
  int signal = 0;
  require(sigwait(&term, &signal) == 0 && signal == SIGTERM, "SIGTERM comes to who awaits it");
  return 0;
}

int dies_in_finish() {
  the_work = make_work();
  launch(the_work, gate(the_work));
  std::thread([] {
    wait_until_asleep(getpid());
    send_term();
  }).detach();
  clFinish(the_work.queue);
  return 0;
}

int dies_in_launches() {
  the_work = make_work();
  ring_in(20);  // SIGALRM ends the process
  for (;;) launch(the_work);
}

struct Task {
  std::string name;
  unsigned long blocked = 0;  // signals, as a mask
  unsigned long ticks = 0;    // of processor time

  bool blocks(int signal) const { return (blocked >> (signal - 1) & 1) != 0; }
};

Task look_at(const std::string& thread) {
  Task seen;
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string word; status >> word;) {
    if (word == "Name:") status >> seen.name;
    if (word == "SigBlk:") status >> std::hex >> seen.blocked;
  }
  std::ifstream stat("/proc/self/task/" + thread + "/stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  unsigned long user = 0, system = 0;
  if (!(fields >> user >> system)) return {};  // it has ended meanwhile
  seen.ticks = user + system;
  return seen;
}

/// The signals that threads of Tutti's block are those of the application, not their own.
int masks() {
  setenv("TUTTI_BUILDS", "inside", 1);  // a thread of Tutti's compiles
  the_work = make_work();
  cl_event event = nullptr;
  launch(the_work, nullptr, &event);
  call_back(event, [](cl_event, cl_int, void*) {});
  std::atomic<bool> building{true};
  std::thread builder([&] {
    build_something_new(the_work, nullptr, 600);
    building = false;
  });
  int seen = 0;
  bool compiles = false;
  std::map<std::string, unsigned long> since;  // ticks
  // Three ticks of the thread's, that is.
  const auto lasts = [&](const std::string& what, bool holds, unsigned long ticks) {
    if (!holds) since.erase(what);
    return holds && ticks - since.try_emplace(what, ticks).first->second >= 3;
  };
  while (building) {
    DIR* const folder = opendir("/proc/self/task");
    while (const dirent* entry = readdir(folder)) {
      const Task task = look_at(entry->d_name);
      if (!task.name.starts_with("tutti-")) continue;
      bool own = false;
      for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGSYS}) {
        own = own || task.blocks(signal);
      }
      // glibc blocks them for a moment in threads that begin or end.
      require(!lasts(std::string("own ") + entry->d_name, own, task.ticks),
              "no thread blocks signals of its own faults");
      // Vendors' threads, which begin in calls that make contexts and queues, take over the mask of
      // the thread that calls.
      const bool open = !task.blocks(SIGTERM) || !task.blocks(SIGINT) || !task.blocks(SIGALRM);
      require(!lasts(std::string("open ") + entry->d_name, open, task.ticks),
              "Tutti's threads block the application's signals");
      ++seen;
      compiles = compiles || task.name == "tutti-compile";
    }
    closedir(folder);
  }
  builder.join();
  require(seen > 0 && compiles, "there are threads of Tutti's");
  return 0;
}

int handlers_stay() {
  static constexpr int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD,
                                     SIGPIPE, SIGALRM, SIGSEGV, SIGBUS,  SIGILL,  SIGABRT};
  for (const int signal : kSignals) handle(signal, [](int) { handled = 1; });
  the_work = make_work();
  launch(the_work);
  check(the_work);
  build_something_new(the_work);
  for (const int signal : kSignals) {
    struct sigaction now {};
    require(sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_DFL &&
                (now.sa_flags & SA_SIGINFO) == 0,
            "the application's handlers stay");
  }
  return 0;
}

constexpr Way kSignalWays[] = {
    {"handler-exits", "7", handler_exits, nullptr, "handler"},
    {"handler-exits-in-finish", "7", handler_exits_in_finish, nullptr, "handler"},
    {"handler-exits-in-launches", "7", handler_exits_in_launches, nullptr, "handler"},
    {"handler-exits-in-build", "7", handler_exits_in_build, nullptr, "handler"},
    {"handler-finishes", "0", handler_finishes, nullptr, "handler"},
    {"interrupted-wait-goes-on", "0", interrupted_wait_goes_on, nullptr, "handler"},
    {"everything-interrupted", "0", everything_interrupted, nullptr, "handler"},
    {"awaited", "0", awaited},
    {"awaited-by-another", "0", awaited_by_another},
    {"read-from-file", "0", read_from_file},
    {"dies-in-finish", "SIGTERM", dies_in_finish},
    {"dies-in-launches", "SIGALRM", dies_in_launches},
    {"masks", "0", masks, nullptr, "tutti"},
    {"handlers-stay", "0", handlers_stay, nullptr, "fault"},
};

}  // namespace

std::span<const Way> signal_ways() { return kSignalWays; }

}  // namespace tutti::endings
