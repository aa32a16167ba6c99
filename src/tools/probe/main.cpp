// SPDX-License-Identifier: Apache-2.0
// tutti-probe LIBRARY SECONDS: loads one vendor driver and asks what `clinfo` would ask of its
// platforms and devices. Writes "safe" and a newline to file descriptor 3 when it has survived
// that; what the driver answers is judged elsewhere. Ends itself after SECONDS. Run by
// platform/probe.cpp.
//
// tutti-probe --loader SECONDS: asks the ICD loader, as an application would, and writes what it
// shows before the verdict, a line each, fields separated by tabs (tools/doctor_loader.cpp reads
// them): "loader PATH NAME VERSION VENDOR", "platform NAME", "device NAME", or "error TEXT".
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
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

void tell(std::initializer_list<std::string> fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty()) line += '\t';
    for (const char c : field) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  line += '\n';
  (void)!write(kResultPipe, line.data(), line.size());
}

// A text from a clGet…Info; empty on errors.
template <typename Query>
std::string text_of(Query query) {
  std::array<char, 1024> text{};
  return query(text.size() - 1, text.data(), nullptr) == CL_SUCCESS ? text.data() : "";
}

// What both loaders answer, after the extension cl_loader_info; older ones do not know it.
constexpr cl_uint kLoaderVersion = 2, kLoaderName = 3, kLoaderVendor = 4;

void query_loader() {
  void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return tell({"error", dlerror()});
  const auto function = [handle](auto*& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(handle, name));
    return pointer != nullptr;
  };
  decltype(cl_icd_dispatch::clGetPlatformIDs) get_platforms = nullptr;
  decltype(cl_icd_dispatch::clGetPlatformInfo) platform_info = nullptr;
  decltype(cl_icd_dispatch::clGetDeviceIDs) get_devices = nullptr;
  decltype(cl_icd_dispatch::clGetDeviceInfo) device_info = nullptr;
  if (!function(get_platforms, "clGetPlatformIDs") ||
      !function(platform_info, "clGetPlatformInfo") || !function(get_devices, "clGetDeviceIDs") ||
      !function(device_info, "clGetDeviceInfo")) {
    return tell({"error", "libOpenCL.so.1 lacks OpenCL's functions"});
  }
  Dl_info place{};
  dladdr(reinterpret_cast<void*>(get_platforms), &place);
  void* (*address)(const char*) = nullptr;
  cl_int (*loader_info)(cl_uint, size_t, void*, size_t*) = nullptr;
  if (function(address, "clGetExtensionFunctionAddress")) {
    loader_info = reinterpret_cast<decltype(loader_info)>(address("clGetICDLoaderInfoOCLICD"));
  }
  const auto about_loader = [loader_info](cl_uint what) {
    if (!loader_info) return std::string();
    return text_of([&](size_t size, void* value, size_t* size_ret) {
      return loader_info(what, size, value, size_ret);
    });
  };
  tell({"loader", place.dli_fname ? place.dli_fname : "", about_loader(kLoaderName),
        about_loader(kLoaderVersion), about_loader(kLoaderVendor)});
  cl_uint count = 0;
  if (get_platforms(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
  std::vector<cl_platform_id> platforms(count);
  if (get_platforms(count, platforms.data(), nullptr) != CL_SUCCESS) return;
  for (const cl_platform_id platform : platforms) {
    tell({"platform", text_of([&](size_t size, void* value, size_t* size_ret) {
            return platform_info(platform, CL_PLATFORM_NAME, size, value, size_ret);
          })});
    if (get_devices(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) {
      continue;
    }
    std::vector<cl_device_id> devices(count);
    if (get_devices(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) != CL_SUCCESS) {
      continue;
    }
    for (const cl_device_id device : devices) {
      tell({"device", text_of([&](size_t size, void* value, size_t* size_ret) {
              return device_info(device, CL_DEVICE_NAME, size, value, size_ret);
            })});
    }
  }
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
  if (std::string_view(argv[1]) == "--loader") {
    query_loader();
  } else {
    query_driver(argv[1]);
  }
  const bool told = write(kResultPipe, "safe\n", 5) == 5;
  // The application waits for this process: no unloading, no destructors of the driver.
  _exit(told ? 0 : 1);
}
