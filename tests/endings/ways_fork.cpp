// SPDX-License-Identifier: Apache-2.0
// Processes that fork.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "ways.h"
#include "work.h"

namespace tutti::endings {
namespace {

/// Errors are fine in a forked child, waiting for ever is not.
void use_in_child() {
  const size_t global = Work::kCount, local = 64;
  const cl_int value = 1;
  cl_int code = CL_SUCCESS;
  clCreateBuffer(the_work.context, CL_MEM_READ_WRITE, 64, nullptr, &code);
  clEnqueueWriteBuffer(the_work.queue, the_work.buffer, CL_TRUE, 0, sizeof value, &value, 0,
                       nullptr, nullptr);
  clEnqueueNDRangeKernel(the_work.queue, the_work.kernel, 1, nullptr, &global, &local, 0, nullptr,
                         nullptr);
  clFinish(the_work.queue);
  clReleaseMemObject(the_work.buffer);
  clReleaseCommandQueue(the_work.queue);
}

int wait_for(pid_t child) {
  int status = 0;
  require(child > 0 && waitpid(child, &status, 0) == child, "there is a child");
  return status;
}

int child_uses() {
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  const pid_t child = fork();
  if (child == 0) {
    use_in_child();
    std::exit(0);
  }
  require(wait_for(child) == 0, "the child ends well");
  check(the_work);
  return 0;
}

int child_uses_nothing() {
  the_work = make_work();
  const cl_event held = gate(the_work);
  launch(the_work, held);
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  require(wait_for(child) == 0, "the child ends well");
  clSetUserEventStatus(held, CL_COMPLETE);
  check(the_work);
  return 0;
}

int child_ends_by_pthread_exit() {
  the_work = make_work();
  launch(the_work);
  const pid_t child = fork();
  if (child == 0) pthread_exit(nullptr);
  require(wait_for(child) == 0, "the child ends well");
  check(the_work);
  return 0;
}

int child_before_first_use() {
  const pid_t child = fork();
  the_work = make_work();
  launch(the_work);
  check(the_work);
  if (child == 0) std::exit(0);
  require(wait_for(child) == 0, "the child ends well");
  return 0;
}

int child_executes() {
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  require(wait_for(child) == 0, "the child ends well");
  check(the_work);
  return 0;
}

int daemon_before() {
  require(daemon(1, 1) == 0, "daemon");
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  check(the_work);
  release(the_work);
  tell("right");
  return 0;
}

int daemon_after() {
  the_work = make_work();
  for (int i = 0; i < 20; ++i) launch(the_work);
  require(daemon(1, 1) == 0, "daemon");
  use_in_child();
  tell("still there");
  return 0;
}

constexpr Way kForkWays[] = {
    {"child-uses", "0", child_uses, nullptr, "tutti fork"},
    {"child-uses-nothing", "0", child_uses_nothing, nullptr, "fork"},
    {"child-ends-by-pthread-exit", "0", child_ends_by_pthread_exit, nullptr, "fork"},
    {"child-before-first-use", "0", child_before_first_use, nullptr, "fork"},
    {"child-executes", "0", child_executes, nullptr, "fork"},
    {"daemon-before", "0", daemon_before, "right", "fork"},
    {"daemon-after", "0", daemon_after, "still there", "tutti fork"},
};

}  // namespace

std::span<const Way> fork_ways() { return kForkWays; }

}  // namespace tutti::endings
