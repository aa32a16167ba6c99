// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <CL/cl_icd.h>
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

namespace tutti::endings {

Work the_work;

namespace {

std::string the_platform = "Tutti";

const char* const kSource =
    "kernel void add_one(global int* data, int rounds) {\n"
    "  size_t i = get_global_id(0);\n"
    "  int x = data[i];\n"
    "  for (int r = 0; r < rounds; ++r) x = x ^ (x * 1664525 + r == 77);\n"
    "  data[i] = data[i] + 1 + (x == 1013904223);\n"
    "}\n"
    "kernel void endless(volatile global int* data) {\n"
    "  while (data[get_global_id(0)] != -1) {}\n"
    "}\n";

cl_platform_id find_platform() {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  require(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    char name[256] = "";
    require(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, nullptr),
            "clGetPlatformInfo");
    if (std::strncmp(name, the_platform.c_str(), the_platform.size()) == 0) return platforms[i];
  }
  require(false, "there is no such platform");
  return nullptr;
}

/// One of "R", "S", "Z"…; 0: there is no such thread.
char state_of_thread(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

}  // namespace

void choose_platform(const std::string& name) { the_platform = name; }
bool is_tutti() { return the_platform == "Tutti"; }

void require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "%s gave %d\n", what, code);
  std::_Exit(3);
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(3);
}

void load_vendors() {
  const char* const names = std::getenv("TUTTI_VENDORS");
  std::istringstream files(names != nullptr ? names : "");
  for (std::string name, file_name; std::getline(files, name, ':');) {
    std::ifstream file(name);
    std::getline(file, file_name);
    void* const library = dlopen(file_name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    require(library != nullptr, "the driver is there");
    const auto address =
        reinterpret_cast<void* (*)(const char*)>(dlsym(library, "clGetExtensionFunctionAddress"));
    const auto get_platforms =
        reinterpret_cast<decltype(&clGetPlatformIDs)>(address("clIcdGetPlatformIDsKHR"));
    cl_platform_id platform = nullptr;
    require(get_platforms(1, &platform, nullptr), "clIcdGetPlatformIDsKHR");
    // What a loader takes to be at the begin of each object.
    const cl_icd_dispatch* const functions = *reinterpret_cast<cl_icd_dispatch**>(platform);
    cl_uint count = 0;
    require(functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count),
            "clGetDeviceIDs");
  }
}

bool platform_is_loaded() {
  // Waits for whoever loads something, constructors included.
  return !is_tutti() || dlopen("libtutti.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
}

void begin_somehow() {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) return;
    clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  }
}

Work make_work() {
  Work work;
  const cl_platform_id platform = find_platform();
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &work.device, nullptr), "clGetDeviceIDs");
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform), 0};
  work.context = clCreateContext(properties, 1, &work.device, nullptr, nullptr, &code);
  require(code, "clCreateContext");
  work.queue = clCreateCommandQueue(work.context, work.device, 0, &code);
  require(code, "clCreateCommandQueue");
  std::vector<cl_int> zeros(Work::kCount);
  work.buffer = clCreateBuffer(work.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               Work::kCount * sizeof(cl_int), zeros.data(), &code);
  require(code, "clCreateBuffer");
  const char* source = kSource;
  work.program = clCreateProgramWithSource(work.context, 1, &source, nullptr, &code);
  require(code, "clCreateProgramWithSource");
  require(clBuildProgram(work.program, 1, &work.device, "", nullptr, nullptr), "clBuildProgram");
  work.kernel = clCreateKernel(work.program, "add_one", &code);
  require(code, "clCreateKernel");
  work.endless = clCreateKernel(work.program, "endless", &code);
  require(code, "clCreateKernel");
  const cl_int rounds = 200;
  require(clSetKernelArg(work.kernel, 0, sizeof(cl_mem), &work.buffer), "clSetKernelArg");
  require(clSetKernelArg(work.kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
  require(clSetKernelArg(work.endless, 0, sizeof(cl_mem), &work.buffer), "clSetKernelArg");
  return work;
}

void launch(Work& work, cl_event wait_for, cl_event* event) {
  const size_t global = Work::kCount, local = 64;
  require(clEnqueueNDRangeKernel(work.queue, work.kernel, 1, nullptr, &global, &local,
                                 wait_for != nullptr ? 1 : 0,
                                 wait_for != nullptr ? &wait_for : nullptr, event),
          "clEnqueueNDRangeKernel");
  ++work.launches;
}

void run_endless(const Work& work, bool ends) {
  const size_t global = Work::kCount, local = 64;
  const cl_int value = ends ? -1 : 0;
  clEnqueueFillBuffer(work.queue, work.buffer, &value, sizeof value, 0, Work::kCount * sizeof value,
                      0, nullptr, nullptr);
  clEnqueueNDRangeKernel(work.queue, work.endless, 1, nullptr, &global, &local, 0, nullptr,
                         nullptr);
  clFinish(work.queue);
}

bool runs_native_kernels(const Work& work) {
  cl_device_exec_capabilities able = 0;
  require(
      clGetDeviceInfo(work.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof able, &able, nullptr),
      "clGetDeviceInfo");
  return (able & CL_EXEC_NATIVE_KERNEL) != 0;
}

void check(const Work& work) {
  std::vector<cl_int> data(Work::kCount, -1);
  require(clEnqueueReadBuffer(work.queue, work.buffer, CL_TRUE, 0, data.size() * sizeof(cl_int),
                              data.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  for (const cl_int element : data) require(element == work.launches, "the result is right");
}

void release(const Work& work) {
  require(clReleaseKernel(work.kernel), "clReleaseKernel");
  require(clReleaseKernel(work.endless), "clReleaseKernel");
  require(clReleaseProgram(work.program), "clReleaseProgram");
  require(clReleaseMemObject(work.buffer), "clReleaseMemObject");
  require(clReleaseCommandQueue(work.queue), "clReleaseCommandQueue");
  require(clReleaseContext(work.context), "clReleaseContext");
}

cl_event gate(const Work& work) {
  cl_int code = CL_SUCCESS;
  const cl_event made = clCreateUserEvent(work.context, &code);
  require(code, "clCreateUserEvent");
  return made;
}

void build_something_new(const Work& work, void(CL_CALLBACK* notify)(cl_program, void*),
                         int statements) {
  static std::atomic<unsigned> programs{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string number = std::to_string(getpid()) + std::to_string(now.tv_nsec) +
                             std::to_string(programs.fetch_add(1));
  std::string text = "kernel void k" + number + "(global float* data, int n) {\n";
  for (int i = 0; i < statements; ++i) {
    text += "  data[get_global_id(0)] += data[n + " + std::to_string(i) + "] * n" + number + ";\n";
  }
  text += "}\n";
  const std::string options = "-D n" + number + "=3";
  const char* source = text.c_str();
  cl_int code = CL_SUCCESS;
  const cl_program program = clCreateProgramWithSource(work.context, 1, &source, nullptr, &code);
  if (code != CL_SUCCESS) return;  // the process is going down
  clBuildProgram(program, 1, &work.device, options.c_str(), notify, nullptr);
}

void call_back(cl_event event, void(CL_CALLBACK* callback)(cl_event, cl_int, void*)) {
  require(clSetEventCallback(event, CL_COMPLETE, callback, nullptr), "clSetEventCallback");
}

void tell(const char* line) {
  const std::string text = std::string(line) + "\n";
  require(write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "stdout takes a line");
}

void wait_until_main_has_ended() {
  if (gettid() == getpid()) return;
  while (state_of_thread(getpid()) != 'Z') sched_yield();
}

void wait_until_no_thread_of_tutti() {
  for (bool found = true; found;) {
    found = false;
    DIR* const folder = opendir("/proc/self/task");
    require(folder != nullptr, "/proc can be read");
    while (const dirent* entry = readdir(folder)) {
      if (std::atoi(entry->d_name) == gettid()) continue;
      std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/comm");
      std::string name;
      std::getline(file, name);
      found = found || name.starts_with("tutti-");
    }
    closedir(folder);
    sched_yield();
  }
}

void wait_until_asleep(int thread) {
  while (state_of_thread(thread) != 'S') sched_yield();
}

}  // namespace tutti::endings
