// SPDX-License-Identifier: Apache-2.0
// Threads end: the first one by pthread_exit, or others that have called in. The process ends when
// the last thread of the application has, unless the vendor's own go on; then SIGTERM ends it.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "ways.h"
#include "work.h"

namespace tutti::endings {
namespace {

[[noreturn]] void end_main() { pthread_exit(nullptr); }

int main_ends() {
  the_work = make_work();
  launch(the_work);
  check(the_work);
  release(the_work);
  tell("main ends");
  end_main();
}

/// All kinds of threads of the driver have worked, and are idle.
int main_ends_after_much() {
  the_work = make_work();
  const cl_event held = gate(the_work);
  cl_event event = nullptr;
  launch(the_work, held, &event);
  call_back(event, [](cl_event, cl_int, void*) {});
  clEnqueueNativeKernel(
      the_work.queue, [](void*) {}, nullptr, 0, 0, nullptr, nullptr, 1, &held, nullptr);
  clSetUserEventStatus(held, CL_COMPLETE);
  check(the_work);
  static std::atomic<bool> built{false};
  build_something_new(the_work, [](cl_program, void*) { built = true; });
  while (!built) std::this_thread::yield();
  tell("main ends");
  end_main();
}

int work_under_way() {
  the_work = make_work();
  cl_event event = nullptr;
  for (int i = 0; i < 20; ++i) launch(the_work);
  launch(the_work, nullptr, &event);
  call_back(event, [](cl_event, cl_int, void*) {
    wait_until_main_has_ended();
    check(the_work);
    tell("right");
  });
  clFlush(the_work.queue);
  tell("main ends");
  end_main();
}

int held_for_ever() {
  the_work = make_work();
  launch(the_work, gate(the_work));
  clFlush(the_work.queue);
  tell("main ends");
  end_main();
}

void CL_CALLBACK wait_for_term(cl_event, cl_int, void*) {
  wait_until_main_has_ended();
  tell("term");
  for (;;) pause();
}

// (Where the driver calls back in the thread that enqueues, main is still there.)
[[noreturn]] void leave_a_callback_behind() {
  the_work = make_work();
  cl_event event = nullptr;
  launch(the_work, nullptr, &event);
  call_back(event, wait_for_term);
  clFlush(the_work.queue);
  end_main();
}

int dies_while_callback_runs() { leave_a_callback_behind(); }

int handler_while_callback_runs() {
  signal(SIGTERM, [](int) { std::exit(7); });
  leave_a_callback_behind();
}

int dies_while_native_kernel_runs() {
  the_work = make_work();
  if (!runs_native_kernels(the_work)) wait_for_term(nullptr, 0, nullptr);
  const auto kernel = [](void*) { wait_for_term(nullptr, 0, nullptr); };
  clEnqueueNativeKernel(the_work.queue, kernel, nullptr, 0, 0, nullptr, nullptr, 0, nullptr,
                        nullptr);
  clFlush(the_work.queue);
  end_main();
}

/// Who has not called yet calls when all who had are gone, and so are Tutti's threads.
int others_call_later() {
  the_work = make_work();
  launch(the_work);
  check(the_work);
  std::thread([] {
    wait_until_main_has_ended();
    wait_until_no_thread_of_tutti();
    for (int i = 0; i < 20; ++i) launch(the_work);
    const cl_event held = gate(the_work);
    launch(the_work, held);
    clSetUserEventStatus(held, CL_COMPLETE);
    check(the_work);
    release(the_work);
    tell("right");
    tell("main ends");  // it has before
  }).detach();
  end_main();
}

int others_go_on() {
  the_work = make_work();
  std::thread([] {
    launch(the_work);
    wait_until_main_has_ended();
    for (int i = 0; i < 20; ++i) launch(the_work);
    check(the_work);
    tell("right");
    std::exit(7);
  }).detach();
  end_main();
}

int threads_come_and_go() {
  for (int i = 0; i < 50; ++i) {
    std::thread([i] {
      if (i == 0) the_work = make_work();
      launch(the_work);
      if (i % 2 == 0) check(the_work);
    }).join();
  }
  std::thread([] { check(the_work); }).join();
  return 0;
}

int thread_leaves_objects() {
  the_work = make_work();
  std::thread([] {
    cl_int code = CL_SUCCESS;
    const cl_command_queue own = clCreateCommandQueue(the_work.context, the_work.device, 0, &code);
    require(code, "clCreateCommandQueue");
    const cl_command_queue mine = the_work.queue;
    the_work.queue = own;
    launch(the_work);
    clFlush(own);
    require(clFinish(own), "clFinish");
    the_work.queue = mine;
  }).join();
  check(the_work);
  return 0;
}

struct ReleasedLate {
  Work own;
  ~ReleasedLate() {
    launch(own);
    check(own);
    release(own);
    tell("released");
  }
};

int thread_releases_at_its_end() {
  std::thread([] {
    thread_local ReleasedLate own_late{make_work()};
    launch(own_late.own);
  }).join();
  return 0;
}

/// (Its objects are destroyed when the process exits, if it does.)
int main_releases_at_its_end() {
  thread_local ReleasedLate own_late{make_work()};
  launch(own_late.own);
  tell("main ends");
  end_main();
}

/// Specific data are destroyed after thread_local objects, in no order.
int specific_data_release() {
  static pthread_key_t key;
  pthread_key_create(&key, [](void*) {
    launch(the_work);
    check(the_work);
    release(the_work);
    tell("released");
  });
  std::thread([] {
    pthread_setspecific(key, &key);
    the_work = make_work();
    launch(the_work);
  }).join();
  return 0;
}

constexpr Way kThreadWays[] = {
    {"main-ends", "end", main_ends, "main ends"},
    {"main-ends-after-much", "end", main_ends_after_much, "main ends"},
    {"work-under-way", "end", work_under_way, "right"},
    {"held-for-ever", "end", held_for_ever, "main ends"},
    {"dies-while-callback-runs", "SIGTERM", dies_while_callback_runs, "term"},
    {"handler-while-callback-runs", "7", handler_while_callback_runs, "term", "handler"},
    {"dies-while-native-kernel-runs", "SIGTERM", dies_while_native_kernel_runs, "term"},
    {"others-call-later", "end", others_call_later, "right"},
    {"others-go-on", "7", others_go_on, "right"},
    {"threads-come-and-go", "0", threads_come_and_go},
    {"thread-leaves-objects", "0", thread_leaves_objects},
    {"thread-releases-at-its-end", "0", thread_releases_at_its_end, "released"},
    {"main-releases-at-its-end", "end", main_releases_at_its_end},
    {"specific-data-release", "0", specific_data_release, "released"},
};

}  // namespace

std::span<const Way> thread_ways() { return kThreadWays; }

}  // namespace tutti::endings
