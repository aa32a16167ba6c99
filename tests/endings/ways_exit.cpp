// SPDX-License-Identifier: Apache-2.0
// The process ends by itself, in the middle of something.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "ways.h"
#include "work.h"

namespace tutti::endings {
namespace {

int all_released() {
  Work work = make_work();
  launch(work);
  check(work);
  release(work);
  return 0;
}

int nothing_released() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  return 0;
}

int running() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  clFlush(work.queue);
  std::exit(7);
}

int held_by_user_event() {
  Work work = make_work();
  const cl_event never = gate(work);
  for (int i = 0; i < 20; ++i) launch(work, never);
  std::exit(7);
}

int mapped() {
  const Work work = make_work();
  cl_int code = CL_SUCCESS;
  auto* const data = static_cast<cl_int*>(clEnqueueMapBuffer(
      work.queue, work.buffer, CL_TRUE, CL_MAP_WRITE, 0, 4096, 0, nullptr, nullptr, &code));
  require(code, "clEnqueueMapBuffer");
  data[0] = 1;
  return 0;
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void CL_CALLBACK exit_in_event_callback(cl_event, cl_int, void*) { std::exit(7); }

int in_callback() {
  Work work = make_work();
  cl_event event = nullptr;
  launch(work, nullptr, &event);
  call_back(event, exit_in_event_callback);
  clFinish(work.queue);
  sleep_for_ever();
}

int in_build_callback() {
  const Work work = make_work();
  build_something_new(work, [](cl_program, void*) { std::exit(7); });
  sleep_for_ever();
}

void CL_CALLBACK exit_in_kernel(void*) { std::exit(7); }

int in_native_kernel() {
  const Work work = make_work();
  if (!runs_native_kernels(work)) return 7;
  clEnqueueNativeKernel(work.queue, exit_in_kernel, nullptr, 0, 0, nullptr, nullptr, 0, nullptr,
                        nullptr);
  clFinish(work.queue);
  sleep_for_ever();
}

int in_destructor_callback() {
  const Work work = make_work();
  require(clSetMemObjectDestructorCallback(
              work.buffer, [](cl_mem, void*) { std::exit(7); }, nullptr),
          "clSetMemObjectDestructorCallback");
  release(work);
  sleep_for_ever();
}

std::atomic<bool> entered{false};

int callback_never_returns() {
  Work work = make_work();
  cl_event event = nullptr;
  launch(work, nullptr, &event);
  // Where the driver calls back in the thread that waits, that is not this one.
  std::thread([&work, event] {
    call_back(event, [](cl_event, cl_int, void*) {
      entered = true;
      sleep_for_ever();
    });
    clFinish(work.queue);
  }).detach();
  while (!entered) std::this_thread::yield();
  std::exit(7);
}

int native_kernel_never_returns() {
  const Work work = make_work();
  if (!runs_native_kernels(work)) return 7;
  std::thread([&work] {
    const auto kernel = [](void*) {
      entered = true;
      sleep_for_ever();
    };
    clEnqueueNativeKernel(work.queue, kernel, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr);
    clFinish(work.queue);
  }).detach();
  while (!entered) std::this_thread::yield();
  std::exit(7);
}

int kernel_never_returns() {
  static const Work work = make_work();
  run_endless(work, true);  // and so it is compiled
  std::thread([] {
    entered = true;
    run_endless(work, false);
  }).detach();
  while (!entered) std::this_thread::yield();
  std::exit(7);
}

int others_blocked() {
  static Work work = make_work();
  static const cl_event never = gate(work);
  launch(work, never);
  std::atomic<int> numbers[2] = {0, 0};
  std::thread([&] {
    numbers[0] = gettid();
    clFinish(work.queue);
  }).detach();
  std::thread([&] {
    numbers[1] = gettid();
    clWaitForEvents(1, &never);
  }).detach();
  for (const auto& number : numbers) {
    while (number == 0) std::this_thread::yield();
    wait_until_asleep(number);
  }
  std::exit(7);
}

int others_build() {
  static const Work work = make_work();
  std::thread([] {
    for (;;) {
      entered = true;
      build_something_new(work);
    }
  }).detach();
  while (!entered) std::this_thread::yield();
  std::exit(7);
}

int others_begin() {
  load_vendors();
  std::thread([] {
    entered = true;
    begin_somehow();
  }).detach();
  while (!entered || !platform_is_loaded()) std::this_thread::yield();
  std::exit(7);
}

int build_under_way() {
  const Work work = make_work();
  build_something_new(work, [](cl_program, void*) {});
  std::exit(7);
}

int others_call() {
  static Work work = make_work();
  static std::atomic<int> rounds{0};
  std::thread([] {
    for (;; ++rounds) {
      const cl_int value = 1;
      clEnqueueWriteBuffer(work.queue, work.buffer, CL_TRUE, 0, sizeof value, &value, 0, nullptr,
                           nullptr);
      const size_t global = Work::kCount, local = 64;
      clEnqueueNDRangeKernel(work.queue, work.kernel, 1, nullptr, &global, &local, 0, nullptr,
                             nullptr);
      clFinish(work.queue);
    }
  }).detach();
  while (rounds < 10) std::this_thread::yield();
  return 0;
}

int quick() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  clFlush(work.queue);
  std::at_quick_exit([] { tell("quick"); });
  std::quick_exit(7);
}

int at_once() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  clFlush(work.queue);
  _exit(7);
}

int aborted() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  clFlush(work.queue);
  std::abort();
}

int terminated() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  std::set_terminate([] { std::abort(); });  // which says nothing
  std::thread([] { throw std::runtime_error("spilled"); }).join();
  return 0;
}

int faulty() {
  Work work = make_work();
  for (int i = 0; i < 20; ++i) launch(work);
  *static_cast<volatile int*>(nullptr) = 1;
  return 0;
}

constexpr Way kExitWays[] = {
    {"all-released", "0", all_released},
    {"nothing-released", "0", nothing_released},
    {"running", "7", running},
    {"held-by-user-event", "7", held_by_user_event},
    {"mapped", "0", mapped},
    {"in-callback", "7", in_callback},
    {"in-build-callback", "7", in_build_callback},
    {"in-native-kernel", "7", in_native_kernel},
    {"in-destructor-callback", "7", in_destructor_callback},
    {"callback-never-returns", "7", callback_never_returns},
    {"native-kernel-never-returns", "7", native_kernel_never_returns},
    {"kernel-never-returns", "7", kernel_never_returns},
    {"others-blocked", "7", others_blocked},
    {"others-build", "7", others_build},
    {"others-begin", "7", others_begin},
    {"build-under-way", "7", build_under_way},
    {"others-call", "0", others_call},
    {"quick-exit", "7", quick, "quick"},
    {"at-once", "7", at_once},
    {"aborted", "SIGABRT", aborted},
    {"terminated", "SIGABRT", terminated, nullptr, "fault"},
    {"faulty", "SIGSEGV", faulty, nullptr, "fault"},
};

}  // namespace

std::span<const Way> exit_ways() { return kExitWays; }

}  // namespace tutti::endings
