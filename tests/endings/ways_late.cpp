// SPDX-License-Identifier: Apache-2.0
// OpenCL is used when the process exits already: in exit handlers and static objects' destructors,
// which were registered before or after the first call.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "ways.h"
#include "work.h"

namespace tutti::endings {
namespace {

Work late;

// What calls answer once the driver has said its farewell does not matter, only that they do.
void use_somehow() {
  const size_t global = Work::kCount, local = 64;
  const cl_int value = 1;
  cl_int code = CL_SUCCESS;
  clEnqueueWriteBuffer(late.queue, late.buffer, CL_FALSE, 0, sizeof value, &value, 0, nullptr,
                       nullptr);
  cl_event event = nullptr;
  clEnqueueNDRangeKernel(late.queue, late.kernel, 1, nullptr, &global, &local, 0, nullptr, &event);
  if (event != nullptr) {
    clWaitForEvents(1, &event);
    clReleaseEvent(event);
  }
  cl_int read = 0;
  clEnqueueReadBuffer(late.queue, late.buffer, CL_TRUE, 0, sizeof read, &read, 0, nullptr, nullptr);
  const cl_mem more = clCreateBuffer(late.context, CL_MEM_READ_WRITE, 4096, nullptr, &code);
  if (more != nullptr) clReleaseMemObject(more);
  build_something_new(late);
  const cl_event never_waited_for = clCreateUserEvent(late.context, &code);
  if (never_waited_for != nullptr) {
    clEnqueueNDRangeKernel(late.queue, late.kernel, 1, nullptr, &global, &local, 1,
                           &never_waited_for, nullptr);
    clSetUserEventStatus(never_waited_for, CL_COMPLETE);
    clReleaseEvent(never_waited_for);
  }
  clFlush(late.queue);
  clFinish(late.queue);
}

struct Holder {
  void (*at_end)() = nullptr;
  ~Holder() {
    if (at_end != nullptr) at_end();
  }
};
Holder made_before;

void work_first() {
  late = make_work();
  launch(late);
}

int destructor_before_releases() {
  work_first();
  made_before.at_end = [] { release(late); };
  return 0;
}

int destructor_before_uses() {
  work_first();
  made_before.at_end = [] {
    use_somehow();
    release(late);
  };
  return 0;
}

int destructor_after_releases() {
  work_first();
  static const Holder holder{[] { release(late); }};
  launch(late);
  return 0;
}

int destructor_after_uses() {
  work_first();
  check(late);  // and so all devices have been used
  static const Holder holder{[] {
    use_somehow();
    release(late);
    tell("used");
  }};
  return 0;
}

int handler_before() {
  std::atexit([] {
    use_somehow();
    release(late);
    tell("used");
  });
  work_first();
  return 0;
}

int handler_after() {
  work_first();
  std::atexit([] {
    use_somehow();
    release(late);
    tell("used");
  });
  return 0;
}

int handler_is_first() {
  std::atexit([] {
    work_first();
    check(late);
    tell("right");
  });
  return 0;
}

// Between the first call and the first build.
int handler_between() {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::atexit([] {
    use_somehow();
    release(late);
    tell("used");
  });
  work_first();
  launch(late);
  return 0;
}

std::atomic<bool> over{false};
std::atomic<int> rounds{0};
std::thread* helper = nullptr;  // no object that is destroyed before who joins it

void join_helper() {
  over = true;
  helper->join();
  tell("joined");
}

void start_helper() {
  helper = new std::thread([] {
    for (; !over; ++rounds) {
      const size_t global = Work::kCount, local = 64;
      clEnqueueNDRangeKernel(late.queue, late.kernel, 1, nullptr, &global, &local, 0, nullptr,
                             nullptr);
      clFinish(late.queue);
    }
  });
  while (rounds < 10) std::this_thread::yield();
}

int helper_joined_before() {
  made_before.at_end = join_helper;
  work_first();
  start_helper();
  return 0;
}

// It waits in a call for what only the handler sets free.
int helper_set_free_late() {
  static cl_event held = nullptr;
  made_before.at_end = [] {
    clSetUserEventStatus(held, CL_COMPLETE);
    helper->join();
    tell("joined");
  };
  work_first();
  held = gate(late);
  launch(late, held);
  static std::atomic<int> number{0};
  helper = new std::thread([] {
    number = gettid();
    clFinish(late.queue);
  });
  while (number == 0) std::this_thread::yield();
  wait_until_asleep(number);
  return 0;
}

constexpr Way kLateWays[] = {
    {"destructor-before-releases", "0", destructor_before_releases},
    {"destructor-before-uses", "0", destructor_before_uses},
    {"destructor-after-releases", "0", destructor_after_releases},
    {"destructor-after-uses", "0", destructor_after_uses, "used"},
    {"handler-before", "0", handler_before, "used"},
    {"handler-between", "0", handler_between, "used"},
    {"handler-after", "0", handler_after, "used"},
    {"handler-is-first", "0", handler_is_first, "right"},
    {"helper-joined-before", "0", helper_joined_before, "joined"},
    {"helper-set-free-late", "0", helper_set_free_late, "joined"},
};

}  // namespace

std::span<const Way> late_ways() { return kLateWays; }

}  // namespace tutti::endings
