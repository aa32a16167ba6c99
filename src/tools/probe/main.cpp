// SPDX-License-Identifier: Apache-2.0
// tutti-probe LIBRARY SECONDS: loads one vendor driver and asks what `clinfo` would ask of its
// platforms and devices. Writes "safe" and a newline to file descriptor 3 when it has survived
// that; what the driver answers is judged elsewhere. Ends itself after SECONDS. Run by
// platform/probe.cpp.
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kResultPipe = 3;

constexpr cl_platform_info kPlatformQueries[] = {
    CL_PLATFORM_PROFILE, CL_PLATFORM_VERSION,    CL_PLATFORM_NAME,
    CL_PLATFORM_VENDOR,  CL_PLATFORM_EXTENSIONS, CL_PLATFORM_ICD_SUFFIX_KHR};

// clinfo's core queries; those of later versions are errors, not crashes, in a sound driver.
constexpr std::array<std::array<cl_device_info, 2>, 3> kDeviceQueryRanges{
    {{CL_DEVICE_TYPE, CL_DEVICE_PARTITION_AFFINITY_DOMAIN},
     {CL_DEVICE_REFERENCE_COUNT, CL_DEVICE_PRINTF_BUFFER_SIZE},
     {CL_DEVICE_IMAGE_PITCH_ALIGNMENT, CL_DEVICE_PIPE_SUPPORT}}};

template <typename Query>
void ask(Query query) {
  size_t size = 0;
  if (query(size_t{0}, nullptr, &size) != CL_SUCCESS || size == 0 || size > (size_t{1} << 24))
    return;
  std::vector<char> value(size);
  query(size, value.data(), nullptr);
}

void query_device(const cl_icd_dispatch& cl, cl_device_id device) {
  for (const auto& [first, last] : kDeviceQueryRanges) {
    for (cl_device_info what = first; what <= last; ++what) {
      ask([&](size_t size, void* value, size_t* size_ret) {
        return cl.clGetDeviceInfo(device, what, size, value, size_ret);
      });
    }
  }
}

void query_platform(cl_platform_id platform) {
  const cl_icd_dispatch* cl = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (!cl || !cl->clGetPlatformInfo || !cl->clGetDeviceIDs || !cl->clGetDeviceInfo) return;
  for (const cl_platform_info what : kPlatformQueries) {
    ask([&](size_t size, void* value, size_t* size_ret) {
      return cl->clGetPlatformInfo(platform, what, size, value, size_ret);
    });
  }
  cl_uint count = 0;
  if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return;
  std::vector<cl_device_id> devices(count);
  if (count == 0 || cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(),
                                       nullptr) != CL_SUCCESS) {
    return;
  }
  for (const cl_device_id device : devices) query_device(*cl, device);
}

void query_driver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;  // the driver's process will say so, with the reason
  auto* address =
      reinterpret_cast<void* (*)(const char*)>(dlsym(handle, "clGetExtensionFunctionAddress"));
  if (!address) return;
  auto* get_platforms =
      reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(address("clIcdGetPlatformIDsKHR"));
  if (!get_platforms) return;
  cl_uint count = 0;
  if (get_platforms(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  std::vector<cl_platform_id> platforms(count);
  if (get_platforms(count, platforms.data(), nullptr) != CL_SUCCESS) return;
  for (const cl_platform_id platform : platforms) query_platform(platform);
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr,
                 "usage: tutti-probe LIBRARY SECONDS (run by Tutti; the verdict goes to fd 3)\n");
    return 2;
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);
  // Whatever the driver starts must not hold the pipe open after our end.
  fcntl(kResultPipe, F_SETFD, FD_CLOEXEC);
  alarm(static_cast<unsigned>(seconds));
  query_driver(argv[1]);
  const bool told = write(kResultPipe, "safe\n", 5) == 5;
  // The application waits for this process: no unloading, no destructors of the driver.
  _exit(told ? 0 : 1);
}
