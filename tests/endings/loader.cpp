// SPDX-License-Identifier: Apache-2.0
// tutti-endings-loader PLATFORM WAY: loads the ICD loader itself, and unloads it again. Not linked
// with it, so that it really goes.
//   again     uses it, unloads it with work under way, loads it again, uses it again
//   for-good  the same, but the process ends when it is unloaded
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {

struct Loader {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};
#define FIND(loader, name) (loader).find<decltype(::name)>(#name)

bool use(const Loader& loader, const char* platform_name) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (FIND(loader, clGetPlatformIDs)(16, platforms, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    char name[256] = "";
    FIND(loader, clGetPlatformInfo)
    (platforms[i], CL_PLATFORM_NAME, sizeof name, name, nullptr);
    if (std::strncmp(name, platform_name, std::strlen(platform_name)) != 0) continue;
    cl_device_id device = nullptr;
    cl_int code =
        FIND(loader, clGetDeviceIDs)(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    if (code != CL_SUCCESS) return false;
    const cl_context context =
        FIND(loader, clCreateContext)(nullptr, 1, &device, nullptr, nullptr, &code);
    if (code != CL_SUCCESS) return false;
    const cl_command_queue queue = FIND(loader, clCreateCommandQueue)(context, device, 0, &code);
    const cl_mem buffer =
        FIND(loader, clCreateBuffer)(context, CL_MEM_READ_WRITE, 1 << 20, nullptr, &code);
    const cl_int value = 7;
    for (int round = 0; round < 20; ++round) {
      code = FIND(loader, clEnqueueFillBuffer)(queue, buffer, &value, sizeof value, 0, 1 << 20, 0,
                                               nullptr, nullptr);
      if (code != CL_SUCCESS) return false;
    }
    cl_int read = 0;
    code = FIND(loader, clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 4096, sizeof read, &read, 0,
                                             nullptr, nullptr);
    if (code != CL_SUCCESS || read != value) return false;
    // Held by a user event, or just enqueued: under way when the loader goes.
    const cl_event held = FIND(loader, clCreateUserEvent)(context, &code);
    FIND(loader, clEnqueueFillBuffer)
    (queue, buffer, &value, sizeof value, 0, 1 << 20, 1, &held, nullptr);
    FIND(loader, clSetUserEventStatus)(held, CL_COMPLETE);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 0; i < (std::strcmp(argv[2], "again") == 0 ? 3 : 1); ++i) {
    const Loader loader;
    if (loader.library == nullptr || !use(loader, argv[1])) {
      std::fprintf(stderr, "round %d fails\n", i);
      return 3;
    }
    if (dlclose(loader.library) != 0) return 4;
  }
  return 0;
}
