// SPDX-License-Identifier: Apache-2.0
// What a driver need not offer: every call gives an error or works, and never crashes. Whatever
// such a call makes is given back at once.
#include "steps.h"

#include <algorithm>

namespace tutti::api_fuzz {
namespace {

/// An object and success, or none and an error.
template <typename T, typename Release>
void expect_either(World& w, const char* call, T object, cl_int code, Release give_back) {
  if ((object != nullptr) != (code == CL_SUCCESS)) {
    w.fail(std::string(call) + " gives an object and " + std::to_string(code));
  }
  if (object != nullptr) give_back(object);
}
void expect_error(World& w, const char* call, cl_int code) {
  if (code >= 0) w.fail(std::string(call) + " answers " + std::to_string(code));
}

void pipes(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context) return;
  cl_int code = 1;
  cl_mem pipe = clCreatePipe(context->as<cl_context>(), w.random.below(4),
                             static_cast<cl_uint>(w.random.odd_size()),
                             static_cast<cl_uint>(w.random.odd_size()), nullptr, &code);
  expect_either(w, "clCreatePipe", pipe, code, clReleaseMemObject);
  cl_uint value = 0;
  expect_error(w, "clGetPipeInfo",
               clGetPipeInfo(w.wrong<cl_mem>(Kind::kMemory), CL_PIPE_PACKET_SIZE, sizeof value,
                             &value, nullptr));
}

void shared_virtual_memory(World& w) {
  const ObjectRef queue = w.any(Kind::kQueue);
  if (!queue) return;
  const auto handle = queue->as<cl_command_queue>();
  const auto context = queue->context->as<cl_context>();
  const size_t size = w.random.odd_size();
  void* pointer = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
  std::byte* const memory = w.host_memory(256);
  if (pointer != nullptr) {
    const std::byte pattern{7};
    const size_t part = std::min<size_t>(size, 4096);  // memory that nobody touches costs nothing
    clEnqueueSVMMemFill(handle, pointer, &pattern, 1, part, 0, nullptr, nullptr);
    clEnqueueSVMMap(handle, CL_FALSE, CL_MAP_WRITE, pointer, part, 0, nullptr, nullptr);
    clEnqueueSVMUnmap(handle, pointer, 0, nullptr, nullptr);
    const bool later =
        w.random.below(2) == 0 &&
        clEnqueueSVMFree(handle, 1, &pointer, nullptr, nullptr, 0, nullptr, nullptr) == CL_SUCCESS;
    if (!later) clSVMFree(context, pointer);
  }
  clSVMFree(context, nullptr);
  expect_error(w, "clEnqueueSVMMemcpy",
               clEnqueueSVMMemcpy(handle, CL_FALSE, memory, nullptr, 64, 0, nullptr, nullptr));
  expect_error(w, "clEnqueueSVMMap",
               clEnqueueSVMMap(handle, CL_FALSE, CL_MAP_READ, memory, 64, 0, nullptr, nullptr));
  if (const ObjectRef kernel = w.any(Kind::kKernel)) {
    expect_error(w, "clSetKernelArgSVMPointer",
                 clSetKernelArgSVMPointer(kernel->as<cl_kernel>(), 0, memory));
  }
}

void intermediate_language(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context) return;
  cl_int code = 1;
  cl_program program =
      clCreateProgramWithIL(context->as<cl_context>(), w.host_memory(64), 64, &code);
  expect_either(w, "clCreateProgramWithIL", program, code, clReleaseProgram);
}

void binaries(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context) return;
  cl_device_id device = w.random.pick(context->devices)->as<cl_device_id>();
  const size_t length = w.random.below(512);
  std::byte* const bytes = w.host_memory(512);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(w.random.bits());
  const auto* text = reinterpret_cast<const unsigned char*>(bytes);
  cl_int status = 1, code = 1;
  cl_program program = clCreateProgramWithBinary(context->as<cl_context>(), 1, &device, &length,
                                                 &text, &status, &code);
  expect_either(w, "clCreateProgramWithBinary", program, code, clReleaseProgram);
  if (code == CL_SUCCESS) w.fail("noise is taken for a program");
}

void timers(World& w) {
  const ObjectRef device = w.any(Kind::kDevice);
  cl_ulong first = 0, second = 0;
  w.check("clGetDeviceAndHostTimer", {},
          clGetDeviceAndHostTimer(device->as<cl_device_id>(), &first, &second));
  Expected expected;
  expected.error(CL_INVALID_VALUE);
  w.check("clGetHostTimer", expected, clGetHostTimer(device->as<cl_device_id>(), nullptr));
}

void old_functions(World& w) {
  const ObjectRef queue = w.any(Kind::kQueue);
  w.check("clUnloadCompiler", {}, clUnloadCompiler());
  w.check("clUnloadPlatformCompiler", {}, clUnloadPlatformCompiler(w.platform));
  if (!queue) return;
  expect_error(
      w, "clSetDefaultDeviceCommandQueue",
      clSetDefaultDeviceCommandQueue(queue->context->as<cl_context>(), w.root->as<cl_device_id>(),
                                     queue->as<cl_command_queue>()));
  const cl_program nothing = nullptr;
  cl_int code = 1;
  cl_program linked =
      clLinkProgram(queue->context->as<cl_context>(), 0, nullptr, nullptr,
                    static_cast<cl_uint>(w.random.below(2)), &nothing, nullptr, nullptr, &code);
  expect_either(w, "clLinkProgram", linked, code, clReleaseProgram);
}

}  // namespace

Steps absent_steps() {
  return {
      {"pipes", 1, pipes},
      {"shared virtual memory", 1, shared_virtual_memory},
      {"intermediate language", 1, intermediate_language},
      {"binaries", 1, binaries},
      {"timers", 1, timers},
      {"old functions", 1, old_functions},
  };
}

}  // namespace tutti::api_fuzz
