// SPDX-License-Identifier: Apache-2.0
// tutti-probe LIBRARY SECONDS: loads one vendor driver and asks what `clinfo` would ask of its
// platforms and devices. Writes "safe" and a newline to file descriptor 3 when it has survived
// that; what the driver answers is judged elsewhere. Ends itself after SECONDS. Run by
// platform/probe.cpp.
//
// tutti-probe --loader SECONDS: asks the ICD loader, as an application would, and writes what it
// shows before the verdict, a line each, fields separated by tabs (tools/doctor_loader.cpp reads
// them): "loader PATH NAME VERSION VENDOR", "platform NAME VERSION", "device NAME", or "error
// TEXT".
//
// tutti-probe --kernel SECONDS: builds and runs a kernel on the Tutti device that the ICD loader
// shows, as an application would. Writes "kernel" when its result is right, else "error CALL CODE
// LOG".
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

/// Functions of the loader that applications are linked with.
class Loader {
 public:
  Loader() : handle_(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  explicit operator bool() const { return handle_ != nullptr; }
  template <typename Function>
  bool operator()(Function*& pointer, const char* name) const {
    pointer = reinterpret_cast<Function*>(dlsym(handle_, name));
    return pointer != nullptr;
  }

 private:
  void* const handle_;
};

void query_loader() {
  const Loader function;
  if (!function) return tell({"error", dlerror()});
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
    const auto text = [&](cl_platform_info what) {
      return text_of([&](size_t size, void* value, size_t* size_ret) {
        return platform_info(platform, what, size, value, size_ret);
      });
    };
    tell({"platform", text(CL_PLATFORM_NAME), text(CL_PLATFORM_VERSION)});
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

/// The first device of Tutti's platform; null: there is none.
cl_device_id tutti_device(const Loader& function) {
  decltype(cl_icd_dispatch::clGetPlatformIDs) get_platforms = nullptr;
  decltype(cl_icd_dispatch::clGetPlatformInfo) platform_info = nullptr;
  decltype(cl_icd_dispatch::clGetDeviceIDs) get_devices = nullptr;
  if (!function(get_platforms, "clGetPlatformIDs") ||
      !function(platform_info, "clGetPlatformInfo") || !function(get_devices, "clGetDeviceIDs")) {
    return nullptr;
  }
  std::array<cl_platform_id, 64> platforms{};
  cl_uint count = 0;
  if (get_platforms(static_cast<cl_uint>(platforms.size()), platforms.data(), &count) !=
      CL_SUCCESS) {
    return nullptr;
  }
  for (size_t i = 0; i < std::min<size_t>(count, platforms.size()); ++i) {
    // Its name may be that of the primary's platform (TUTTI_IDENTITY).
    const std::string version = text_of([&](size_t size, void* value, size_t* size_ret) {
      return platform_info(platforms[i], CL_PLATFORM_VERSION, size, value, size_ret);
    });
    cl_device_id device = nullptr;
    if (version.find(" Tutti ") != std::string::npos &&
        get_devices(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  return nullptr;
}

void run_kernel() {
  constexpr const char* kSource =
      "kernel void add_one(global uint* x) { x[get_global_id(0)] += 1; }\n";
  constexpr size_t kItems = 4096;
  const Loader function;
  if (!function) return tell({"error", "dlopen", "0", dlerror()});
  decltype(cl_icd_dispatch::clCreateContext) create_context = nullptr;
  decltype(cl_icd_dispatch::clCreateCommandQueue) create_queue = nullptr;
  decltype(cl_icd_dispatch::clCreateProgramWithSource) create_program = nullptr;
  decltype(cl_icd_dispatch::clBuildProgram) build = nullptr;
  decltype(cl_icd_dispatch::clGetProgramBuildInfo) build_info = nullptr;
  decltype(cl_icd_dispatch::clCreateKernel) create_kernel = nullptr;
  decltype(cl_icd_dispatch::clCreateBuffer) create_buffer = nullptr;
  decltype(cl_icd_dispatch::clSetKernelArg) set_argument = nullptr;
  decltype(cl_icd_dispatch::clEnqueueNDRangeKernel) launch = nullptr;
  decltype(cl_icd_dispatch::clEnqueueReadBuffer) read = nullptr;
  if (!function(create_context, "clCreateContext") ||
      !function(create_queue, "clCreateCommandQueue") ||
      !function(create_program, "clCreateProgramWithSource") ||
      !function(build, "clBuildProgram") || !function(build_info, "clGetProgramBuildInfo") ||
      !function(create_kernel, "clCreateKernel") || !function(create_buffer, "clCreateBuffer") ||
      !function(set_argument, "clSetKernelArg") || !function(launch, "clEnqueueNDRangeKernel") ||
      !function(read, "clEnqueueReadBuffer")) {
    return tell({"error", "dlsym", "0", "libOpenCL.so.1 lacks OpenCL's functions"});
  }
  cl_device_id device = tutti_device(function);
  if (!device) return tell({"error", "clGetDeviceIDs", "0", "there is no Tutti device"});
  cl_int code = CL_SUCCESS;
  const auto failed = [&code](const char* call, const std::string& log = {}) {
    if (code != CL_SUCCESS) tell({"error", call, std::to_string(code), log});
    return code != CL_SUCCESS;
  };
  cl_context context = create_context(nullptr, 1, &device, nullptr, nullptr, &code);
  if (failed("clCreateContext")) return;
  cl_command_queue queue = create_queue(context, device, 0, &code);
  if (failed("clCreateCommandQueue")) return;
  const char* source = kSource;
  cl_program program = create_program(context, 1, &source, nullptr, &code);
  if (failed("clCreateProgramWithSource")) return;
  code = build(program, 1, &device, "", nullptr, nullptr);
  if (code != CL_SUCCESS) {
    const std::string log = text_of([&](size_t size, void* value, size_t* size_ret) {
      return build_info(program, device, CL_PROGRAM_BUILD_LOG, size, value, size_ret);
    });
    failed("clBuildProgram", log);
    return;
  }
  cl_kernel kernel = create_kernel(program, "add_one", &code);
  if (failed("clCreateKernel")) return;
  std::vector<cl_uint> data(kItems);
  for (size_t i = 0; i < kItems; ++i) data[i] = static_cast<cl_uint>(i);
  const size_t bytes = kItems * sizeof(cl_uint);
  cl_mem buffer =
      create_buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data.data(), &code);
  if (failed("clCreateBuffer")) return;
  code = set_argument(kernel, 0, sizeof buffer, &buffer);
  if (failed("clSetKernelArg")) return;
  code = launch(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr);
  if (failed("clEnqueueNDRangeKernel")) return;
  code = read(queue, buffer, CL_TRUE, 0, bytes, data.data(), 0, nullptr, nullptr);
  if (failed("clEnqueueReadBuffer")) return;
  for (size_t i = 0; i < kItems; ++i) {
    if (data[i] != i + 1) return tell({"error", "add_one", "0", "its result is wrong"});
  }
  tell({"kernel"});
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
  } else if (std::string_view(argv[1]) == "--kernel") {
    run_kernel();
  } else {
    query_driver(argv[1]);
  }
  const bool told = write(kResultPipe, "safe\n", 5) == 5;
  // The application waits for this process: no unloading, no destructors of the driver.
  _exit(told ? 0 : 1);
}
