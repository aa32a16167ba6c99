// SPDX-License-Identifier: Apache-2.0
// An ordinary OpenCL program whose devices may vanish: computes in rounds until its standard input
// ends, and prints a line for each: "right", "told CODE" (a call returned an error, whatever the
// bytes are), or "wrong". A round writes a buffer, launches a kernel that computes in place several
// times, and reads it.
#include <CL/cl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr const char* kSource =
    "kernel void advance(global uint* x, uint n) {\n"
    "  uint value = x[get_global_id(0)];\n"
    "  for (uint i = 0; i < n; ++i) value = value * 1664525u + 1013904223u;\n"
    "  x[get_global_id(0)] = value;\n"
    "}\n";
constexpr size_t kItems = size_t{64} << 10;
constexpr cl_uint kRounds = 200;
constexpr int kLaunches = 3;

cl_uint expected(cl_uint value) {
  for (cl_uint i = 0; i < kRounds * kLaunches; ++i) value = value * 1664525u + 1013904223u;
  return value;
}

[[noreturn]] void give_up(const char* call, cl_int code) {
  std::printf("cannot go on: %s %d\n", call, code);
  std::exit(2);
}

bool input_ended() {
  pollfd entry{STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  return poll(&entry, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

}  // namespace

int main() {
  std::array<cl_platform_id, 8> platforms{};
  cl_uint count = 0;
  cl_int code = clGetPlatformIDs(platforms.size(), platforms.data(), &count);
  if (code != CL_SUCCESS || count == 0) give_up("clGetPlatformIDs", code);
  cl_device_id device = nullptr;
  code = clGetDeviceIDs(platforms[0], CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  if (code != CL_SUCCESS) give_up("clGetDeviceIDs", code);
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) give_up("clCreateContext", code);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, nullptr, &code);
  if (code != CL_SUCCESS) give_up("clCreateCommandQueue", code);
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
  if (code == CL_SUCCESS) code = clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  if (code != CL_SUCCESS) give_up("clBuildProgram", code);
  cl_kernel kernel = clCreateKernel(program, "advance", &code);
  if (code != CL_SUCCESS) give_up("clCreateKernel", code);
  const size_t bytes = kItems * sizeof(cl_uint);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  if (code != CL_SUCCESS) give_up("clCreateBuffer", code);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  clSetKernelArg(kernel, 1, sizeof kRounds, &kRounds);

  std::vector<cl_uint> data(kItems), want(kItems);
  for (size_t i = 0; i < kItems; ++i) want[i] = expected(static_cast<cl_uint>(i));
  while (!input_ended()) {
    for (size_t i = 0; i < kItems; ++i) data[i] = static_cast<cl_uint>(i);
    cl_int told = CL_SUCCESS;
    const auto note = [&told](cl_int result) {
      if (told == CL_SUCCESS) told = result;
    };
    note(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, data.data(), 0, nullptr, nullptr));
    for (int i = 0; i < kLaunches; ++i) {
      note(
          clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr));
    }
    note(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, data.data(), 0, nullptr, nullptr));
    if (told != CL_SUCCESS) {
      std::printf("told %d\n", told);
    } else {
      std::puts(data == want ? "right" : "wrong");
    }
    std::fflush(stdout);
  }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
