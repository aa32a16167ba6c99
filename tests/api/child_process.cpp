// SPDX-License-Identifier: Apache-2.0
#include "child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kCount = 1 << 16;
constexpr unsigned kAlarmSeconds = 100;

const char* const kChildSource =
    "kernel void spin(global int* data, int rounds) {\n"
    "  size_t i = get_global_id(0);\n"
    "  int x = data[i];\n"
    "  for (int r = 0; r < rounds; ++r) x = x * 1664525 + 1013904223;\n"
    "  data[i] = x;\n"
    "}\n";

// Raw handles on purpose: these processes release nothing, or release late.
struct Work {
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
};

// Ends the process with a message when a call fails: a child has no test to fail.
void require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "child: %s gave %s\n", what, error_name(code).c_str());
  std::_Exit(3);
}

Work make_work() {
  Work work;
  cl_device_id device = options().device;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(options().platform), 0};
  cl_int code = CL_SUCCESS;
  work.context = clCreateContext(properties, 1, &device, nullptr, nullptr, &code);
  require(code, "clCreateContext");
  work.queue = clCreateCommandQueue(work.context, device, 0, &code);
  require(code, "clCreateCommandQueue");
  work.buffer = clCreateBuffer(work.context, CL_MEM_READ_WRITE, kCount * 4, nullptr, &code);
  require(code, "clCreateBuffer");
  const cl_int zero = 0;
  require(
      clEnqueueFillBuffer(work.queue, work.buffer, &zero, 4, 0, kCount * 4, 0, nullptr, nullptr),
      "clEnqueueFillBuffer");
  const char* source = kChildSource;
  work.program = clCreateProgramWithSource(work.context, 1, &source, nullptr, &code);
  require(code, "clCreateProgramWithSource");
  require(clBuildProgram(work.program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  work.kernel = clCreateKernel(work.program, "spin", &code);
  require(code, "clCreateKernel");
  const cl_int rounds = 1000;
  require(clSetKernelArg(work.kernel, 0, sizeof(cl_mem), &work.buffer), "clSetKernelArg");
  require(clSetKernelArg(work.kernel, 1, sizeof(rounds), &rounds), "clSetKernelArg");
  return work;
}

void enqueue(const Work& work, cl_uint wait_count = 0, const cl_event* wait_list = nullptr) {
  const size_t global = kCount;
  const size_t local = 64;
  require(clEnqueueNDRangeKernel(work.queue, work.kernel, 1, nullptr, &global, &local, wait_count,
                                 wait_list, nullptr),
          "clEnqueueNDRangeKernel");
}

void release(const Work& work) {
  require(clReleaseKernel(work.kernel), "clReleaseKernel");
  require(clReleaseProgram(work.program), "clReleaseProgram");
  require(clReleaseMemObject(work.buffer), "clReleaseMemObject");
  require(clReleaseCommandQueue(work.queue), "clReleaseCommandQueue");
  require(clReleaseContext(work.context), "clReleaseContext");
}

int leave_running() {
  const Work work = make_work();
  for (int i = 0; i < 20; ++i) enqueue(work);
  require(clFlush(work.queue), "clFlush");
  return 0;
}

int leave_unflushed() {
  const Work work = make_work();
  for (int i = 0; i < 20; ++i) enqueue(work);
  return 0;
}

int leave_held_back() {
  const Work work = make_work();
  cl_int code = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(work.context, &code);
  require(code, "clCreateUserEvent");
  for (int i = 0; i < 20; ++i) enqueue(work, 1, &gate);
  require(clFlush(work.queue), "clFlush");
  return 0;
}

int leave_mapped() {
  const Work work = make_work();
  cl_int code = CL_SUCCESS;
  auto* data = static_cast<int*>(clEnqueueMapBuffer(work.queue, work.buffer, CL_TRUE, CL_MAP_WRITE,
                                                    0, 4096, 0, nullptr, nullptr, &code));
  require(code, "clEnqueueMapBuffer");
  data[0] = 1;
  return 0;
}

int leave_in_the_middle_of_calls() {
  // Both threads live until the process is gone: nothing may wait for them, nor crash under them.
  auto* work = new Work(make_work());
  static std::atomic<int> rounds{0};
  for (int i = 0; i < 2; ++i) {
    std::thread([work] {
      // What calls return while the process goes down does not matter, only that they return.
      const int value = 1;
      for (;;) {
        clEnqueueWriteBuffer(work->queue, work->buffer, CL_TRUE, 0, sizeof(value), &value, 0,
                             nullptr, nullptr);
        rounds.fetch_add(1);
      }
    }).detach();
  }
  while (rounds.load() < 10) std::this_thread::yield();
  std::exit(0);
}

int release_after_main() {
  // A static object's destructor is the last place where applications clean up.
  struct Late {
    Work work;
    ~Late() {
      enqueue(work);
      require(clFinish(work.queue), "clFinish");
      release(work);
    }
  };
  static const Late late{make_work()};
  enqueue(late.work);
  return 0;
}

int tidy() {
  const Work work = make_work();
  enqueue(work);
  require(clFinish(work.queue), "clFinish");
  release(work);
  return 0;
}

// In a forked child the parent's threads are not there, and what only their stacks held looks like
// a leak: the leak checker asks this at the end.
bool forked = false;

int fork_and_use() {
  // A child without exec has no threads of the driver: errors are fine, a deadlock is not.
  const Work work = make_work();
  enqueue(work);
  require(clFinish(work.queue), "clFinish");
  const pid_t pid = fork();
  if (pid == 0) {
    forked = true;
    alarm(kAlarmSeconds / 2);
    const size_t global = kCount;
    const int value = 1;
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateBuffer(work.context, CL_MEM_READ_WRITE, 64, nullptr, &code);
    (void)buffer;
    clEnqueueWriteBuffer(work.queue, work.buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr);
    clEnqueueNDRangeKernel(work.queue, work.kernel, 1, nullptr, &global, nullptr, 0, nullptr,
                           nullptr);
    clFinish(work.queue);
    std::exit(0);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 4;
  // The parent is unharmed.
  enqueue(work);
  require(clFinish(work.queue), "clFinish");
  return status == 0 ? 0 : 5;
}

}  // namespace

int run_child(const std::string& mode) {
  alarm(kAlarmSeconds);
  if (mode == "tidy") return tidy();
  if (mode == "leave_running") return leave_running();
  if (mode == "leave_unflushed") return leave_unflushed();
  if (mode == "leave_held_back") return leave_held_back();
  if (mode == "leave_mapped") return leave_mapped();
  if (mode == "leave_in_the_middle_of_calls") return leave_in_the_middle_of_calls();
  if (mode == "release_after_main") return release_after_main();
  if (mode == "fork_and_use") return fork_and_use();
  return 2;
}

extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return forked ? 1 : 0;
}

std::string run_and_describe(const std::string& mode) {
  const std::string platform = "--platform=" + options().platform_name;
  const std::string child = "--child=" + mode;
  const char* const arguments[] = {"tutti-api-tests", platform.c_str(), child.c_str(), nullptr};
  const pid_t pid = fork();
  if (pid == 0) {
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    std::_Exit(127);
  }
  int status = 0;
  if (pid < 0) return std::string("fork: ") + std::strerror(errno);
  if (waitpid(pid, &status, 0) != pid) return std::string("waitpid: ") + std::strerror(errno);
  if (WIFSIGNALED(status)) {
    return "ended by signal " + std::to_string(WTERMSIG(status)) +
           (WTERMSIG(status) == SIGALRM ? " (hung)" : "");
  }
  if (WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
  return {};
}

}  // namespace tutti::api_tests
